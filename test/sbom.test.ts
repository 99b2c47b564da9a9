/** The list of contents names what no package of npm does: codecs in WebAssembly, and fonts. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { partsOf } from '../scripts/sbom.ts';
import { projectRoot } from './paths.ts';

const dist = join(projectRoot, 'dist');

describe('the list of contents', () => {
  it.skipIf(!existsSync(join(dist, 'gov.cjs')))('names the libraries in each codec, and each font', () => {
    const named = partsOf(dist).map(({ name }) => name);
    for (const name of ['libwebp', 'mozjpeg', 'png', 'miniz_oxide', 'NotoSans', 'NotoSansMono'])
      expect(named).toContain(name);
    expect(new Set(named).size).toBe(named.length);
  });

  it('ends the release at a codec or font whose contents nobody wrote down', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gov-sbom-'));
    writeFileSync(join(folder, 'avif_dec.wasm'), '');
    expect(() => partsOf(folder)).toThrow('expected what avif_dec.wasm contains in scripts/sbom.ts');
    rmSync(folder, { recursive: true });
  });
});

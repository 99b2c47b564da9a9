/** The list of contents names what no package of npm does: codecs in WebAssembly, and fonts. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { machineCodeOf, partsOf, partsOfNotice, publishedPackages } from '../scripts/sbom.ts';
import { projectRoot } from './paths.ts';

const dist = join(projectRoot, 'dist');

describe('the list of contents', () => {
  it.skipIf(!existsSync(join(dist, 'gov.cjs')))('names the libraries in each codec, and each font', () => {
    const named = partsOf(dist).map(({ name }) => name);
    for (const name of ['libwebp', 'mozjpeg', 'png', 'miniz_oxide', 'NotoSans', 'NotoSansMono', 'sRGB2014'])
      expect(named).toContain(name);
    expect(new Set(named).size).toBe(named.length);
  });

  it.skipIf(!existsSync(join(dist, 'NOTICE')))('names each work of other authors in NOTICE, once', () => {
    const refs = partsOfNotice(readFileSync(join(dist, 'NOTICE'), 'utf8')).map((each) => each['bom-ref']);
    expect(refs).toContain('pkg:github/google/brotli');
    expect(refs).toContain('pkg:npm/%40scure/bip39@2.4.0');
    expect(new Set(refs).size).toBe(refs.length);
  });

  it('ends the release at a work of NOTICE that nobody wrote down', () => {
    const text = `preface\n\n${'-'.repeat(78)}\n\nSongs of birds, by Ada\n\ntext\n`;
    expect(() => partsOfNotice(text)).toThrow('expected the work "Songs of birds, by Ada" of dist/NOTICE');
  });

  it('ends the release at a codec or font whose contents nobody wrote down', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gov-sbom-'));
    writeFileSync(join(folder, 'avif_dec.wasm'), '');
    expect(() => partsOf(folder)).toThrow('expected what avif_dec.wasm contains in scripts/sbom.ts');
    rmSync(folder, { recursive: true });
  });

  it('names what the machine code of installed packages contains, each part once', () => {
    const folders = publishedPackages(projectRoot).map((path) => join(projectRoot, path));
    const present = folders.filter((path) => existsSync(path));
    const refs = machineCodeOf(present).map((each) => each['bom-ref']);
    expect(refs).toContain('pkg:github/jqlang/jq@jq-1.7.1');
    const engine = new Database(':memory:').prepare<[], string>('SELECT sqlite_version()').pluck().get();
    expect(refs).toContain(`pkg:generic/sqlite@${engine}`);
    if (present.some((path) => path.includes('keyring-linux')))
      expect(refs.filter((ref) => ref.startsWith('pkg:cargo/keyring')).length).toBeGreaterThan(0);
    expect(new Set(refs).size).toBe(refs.length);
  });

  it('ends the release at an installed package with machine code whose contents nobody wrote down', () => {
    const folder = join(mkdtempSync(join(tmpdir(), 'gov-sbom-')), 'node_modules/fast-thing');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'fast.node'), '');
    expect(() => machineCodeOf([folder])).toThrow('expected what fast-thing contains in scripts/sbom.ts');
    rmSync(join(folder, '../..'), { recursive: true });
  });
});

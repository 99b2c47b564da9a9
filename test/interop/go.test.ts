/**
 * Exported bundles checked by Go programs (`test/interop/go`): one written with nothing but Go's standard library,
 * one with golang.org/x/mod/sumdb, where the formats come from. Debian has both: golang-go, golang-golang-x-mod-dev.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  exportBundle,
  type Exported,
  has,
  vitalBytes,
  withOneByte,
  withSpoiledNote,
  write,
} from './support/exported.ts';
import { goPrograms } from './support/go-programs.ts';

let exported: Exported;
beforeAll(async () => {
  if (has('go')) exported = await exportBundle();
});
afterAll(() => exported?.plane.end());

for (const { name, hasXmod, skip, build } of goPrograms) {
  describe.skipIf(skip !== null)(`${name}${skip === null ? '' : ` (skipped: ${skip})`}`, () => {
    let program: string;
    beforeAll(() => {
      program = build(exported.plane.folder);
    }, 180_000);

    const check = (files: readonly string[], more: readonly string[] = []): string[] => {
      const { stdout, stderr } = spawnSync(program, [...more, exported.vkey, ...files], {
        encoding: 'utf8',
        env: {
          ...process.env,
          GOV_API_KEY: readFileSync(join(exported.plane.dataDir, 'local.key'), 'utf8').trim(),
        },
      });
      expect(stderr).toBe('');
      return stdout.trimEnd().split('\n');
    };

    it('the Go program accepts notes, hashes, consistency, and inclusion of proof, events and graph', () => {
      const { proofLeaf, proofCheckpoint, events } = exported.bundle;
      const [, size] = proofCheckpoint.split('\n');
      const { index } = proofLeaf;
      expect(check([exported.file])[0]).toMatch(
        new RegExp(
          `^ok: prf_\\S+, leaf ${index} of ${size}, ${events?.length} events of ${index} leaves, [1-9]\\d* hashes of consistency$`,
        ),
      );
    });

    it('the Go program refuses every copy of a bundle with one byte changed', () => {
      const { bundle, plane } = exported;
      const copies = [
        ...vitalBytes.map(([, path, from]) => withOneByte(bundle, path, from)),
        withSpoiledNote(bundle, 'checkpoint', 'text'),
        withSpoiledNote(bundle, 'checkpoint', 'signature'),
        withSpoiledNote(bundle, 'proofCheckpoint', 'text'),
        withSpoiledNote(bundle, 'proofCheckpoint', 'signature'),
      ];
      const said = check(copies.map((text, at) => write(plane, `copy-${at}.json`, text)));
      expect(said.length).toBe(copies.length);
      expect(said.filter((line) => !line.startsWith('refused: '))).toEqual([]);
      expect(new Set(said).size).toBeGreaterThan(8);
    });

    it('the Go program refuses a bundle under another key', () => {
      const other = 'gov.local/other+a1b2c3d4+AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAh';
      const { stdout, status } = spawnSync(program, [other, exported.file], { encoding: 'utf8' });
      expect([status, stdout.startsWith('refused: checkpoint: ')]).toEqual([1, true]);
    });

    it('the Go program accepts the C2SP tlog-proof of the leaf of a proof', async () => {
      const { plane, bundle } = exported;
      const out = join(plane.folder, 'run.tlog-proof');
      await plane.run(['proofs', 'get', bundle.proof.proofId, '--format', 'tlog-proof', '--out', out]);
      write(plane, 'run.tlog-proof.record', bundle.proofLeaf.record);
      const { index } = bundle.proofLeaf;
      expect(check([out])[0]).toMatch(new RegExp(`^ok: tlog-proof of leaf ${index} of \\d+$`));
      write(plane, 'run.tlog-proof.record', `${bundle.proofLeaf.record} `);
      expect(check([out])[0]).toMatch(/^refused: /);
    });

    if (hasXmod) {
      it('the Go program proves every event from the tiles that the plane serves', () => {
        const said = check([exported.file], ['-tiles', exported.plane.baseUrl]);
        expect(said[0]).toMatch(/; from [1-9]\d* tiles of 383 leaves$/);
      });
    }
  });
}

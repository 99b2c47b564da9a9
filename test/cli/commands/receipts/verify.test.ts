import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entriesPath } from '../../../../src/core/merkle/tile-path.ts';
import { entriesIn } from '../../../core/merkle/entries.ts';
import type { Answer } from '../../../support/answer.ts';
import { event, startPlane, type TestPlane } from '../../../support/serving.ts';
import { emptyDirectory, gov, govHere } from '../../support/tool.ts';

let plane: TestPlane;
let batch: Answer;
const cwd = emptyDirectory();
let env: Record<string, string>;
beforeAll(async () => {
  plane = await startPlane();
  env = { GOV_CONFIG_DIR: emptyDirectory(), GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key };
  const events = Array.from({ length: 20 }, (_, n) => event({ metadata: { n } }));
  batch = await plane.call('POST', '/events/batch', { body: { events } });
  await govHere(['trust', 'fetch', '-O', 'keys'], { env, cwd });
});
afterAll(() => plane.end());

describe('gov receipts', () => {
  it('a receipt of a leaf verifies offline with the record, and with no other record', async () => {
    expect((await govHere(['receipts', 'get', '7', '-O', '7.receipt.cose'], { env, cwd })).code).toBe(0);
    const { bytes } = await plane.call('GET', `/log/${entriesPath(0, 12)}`);
    const records = entriesIn(bytes);
    writeFileSync(join(cwd, 'record'), records[7]!);
    writeFileSync(join(cwd, 'other'), records[8]!);
    const verify = (...argv: string[]) =>
      govHere(['receipts', 'verify', '7.receipt.cose', ...argv, '-o', 'json'], {
        env: { GOV_CONFIG_DIR: emptyDirectory() },
        cwd,
      });
    const good = await verify('--record', 'record', '--trust', 'keys');
    expect([good.code, JSON.parse(good.stdout)]).toMatchObject([0, { verified: true, index: 7, code: null }]);
    const bad = await verify('--record', 'other', '--trust', 'keys');
    expect([bad.code, JSON.parse(bad.stdout)]).toMatchObject([3, { verified: false }]);
    expect((await verify('--record', 'record')).code).toBe(2);
    const listed = await verify('--trust', 'keys');
    expect([listed.code, JSON.parse(listed.stdout)]).toMatchObject([0, { verified: true, index: 7 }]);
    expect((await verify('--record', 'record', '--leaf', 'x', '--trust', 'keys')).code).toBe(2);
    expect((await verify('--leaf', 'nonsense', '--trust', 'keys')).code).toBe(2);
  });

  it('the receipt of a batch, as its answer carries it, verifies offline with the leaf hashes of the answer', async () => {
    writeFileSync(join(cwd, 'batch.cose'), Buffer.from(String(batch.headers['gov-receipt']), 'base64url'));
    const hashes = (batch.body.results as { leafHash: string }[]).map(({ leafHash }) => leafHash);
    const verify = (leaves: readonly string[]) =>
      govHere(
        ['receipts', 'verify', 'batch.cose', '--trust', 'keys', '-o', 'json'].concat(
          leaves.flatMap((leaf) => ['--leaf', leaf]),
        ),
        { env: { GOV_CONFIG_DIR: emptyDirectory() }, cwd },
      );
    const good = await verify(hashes);
    expect([good.code, JSON.parse(good.stdout)]).toMatchObject([0, { verified: true }]);
    expect((await verify(hashes.toReversed())).code).toBe(3);
    const unlisted = await verify([]);
    expect([unlisted.code, unlisted.stderr]).toEqual([2, expect.stringContaining('does not list')]);
  });

  it('a receipt goes to standard output as it is, and a leaf that is not there ends with exit code 5', async () => {
    const { code, stderr } = await gov(['receipts', 'get', '7', '-O', 'again.cose'], { env, cwd });
    expect([code, stderr]).toEqual([0, '']);
    expect(readFileSync(join(cwd, 'again.cose'))[0]).toBe(0xd2);
    expect((await govHere(['receipts', 'get', '7000'], { env, cwd })).code).toBe(5);
    expect((await govHere(['receipts', 'get', 'x'], { env, cwd })).code).toBe(2);
  });

  it('a terminal gets neither the bytes of a receipt nor an answer whose hidden characters stay', async () => {
    const onTerminal = { env: { ...env, GOV_FORCE_TTY: '80' }, cwd };
    for (const argv of [
      ['receipts', 'get', '7'],
      ['receipts', 'get', '7', '-O', '/dev/stdout'],
      ['proofs', 'ask', '--type', 'prompt.submitted', '-O', '-'],
    ]) {
      const { code, stdout, stderr } = await govHere(argv, onTerminal);
      expect([argv, code, stdout]).toEqual([argv, 2, '']);
      expect(stderr).toContain('expected a pipe or a file on standard output, got a terminal');
    }
  });
});

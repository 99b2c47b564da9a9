import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { parseHash } from '../../../src/core/hash.ts';
import { openCheckpoint, parseCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { splitNote } from '../../../src/core/note/signed.ts';
import { leafHash, merkleRoot, verifyConsistency } from '../../../src/core/merkle/tree.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import { entriesPath, tilePath } from '../../../src/core/merkle/tile-path.ts';
import { rootFromTiles, rootPlan } from '../../../src/core/merkle/tile-proof.ts';
import { entriesIn } from '../../core/merkle/entries.ts';
import { verifyReceipt } from '../../../src/core/receipt/cose.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
  for (let at = 0; at < 3; at += 1) {
    const events = Array.from({ length: 250 }, (_, n) => event({ runId: `r${at}`, metadata: { n } }));
    await plane.call('POST', '/events/batch', { body: { events } });
  }
  await plane.call('POST', '/proofs', { body: { runId: 'r0' } });
});
afterAll(() => plane.end());

const bytes = async (path: string): Promise<Buffer> => {
  const answer = await plane.call('GET', `/log/${path}`);
  expect(answer.status, path).toBe(200);
  return answer.bytes;
};

describe('the log as C2SP texts', () => {
  it('the log can be read and checked as C2SP texts without this service: keys, checkpoint, tiles, entries', async () => {
    const keys = (await bytes('key')).toString('utf8').trim().split('\n').map(parseVerifierKey);
    const origin = keys[0]?.name ?? '';
    const { checkpoint, signedBy } = openCheckpoint(
      (await bytes('checkpoint')).toString('utf8'),
      keys,
      origin,
    );
    expect(signedBy.length).toBe(keys.length);
    const { size, root } = checkpoint;
    expect(size).toBeGreaterThan(750);

    const plan = rootPlan(size);
    const tiles = new Map<string, Buffer>();
    for (const tile of plan) tiles.set(`${tile.level}/${tile.index}`, await bytes(tilePath(tile)));
    expect(rootFromTiles(size, (level, index) => tiles.get(`${level}/${index}`) ?? Buffer.alloc(0))).toEqual(
      root,
    );

    const leaves: Buffer[] = [];
    for (let index = 0; index * 256 < size; index += 1) {
      const width = Math.min(256, size - index * 256);
      const records = entriesIn(await bytes(entriesPath(index, width)));
      const hashes = await bytes(tilePath({ level: 0, index, width }));
      expect(Buffer.concat(records.map((record) => leafHash(record)))).toEqual(hashes);
      leaves.push(...records.map((record) => leafHash(record)));
    }
    expect(merkleRoot(leaves)).toEqual(root);
  });

  it('a receipt of each leaf verifies with the key of the log', async () => {
    const keys = (await bytes('key')).toString('utf8').trim().split('\n').map(parseVerifierKey);
    const trust = { origin: keys[0]?.name ?? '', keys, witnesses: [], quorum: 0 };
    const hashes = await bytes(tilePath({ level: 0, index: 0, width: 256 }));
    for (const index of [0, 1, 100, 255]) {
      const leaf = hashes.subarray(index * 32, index * 32 + 32);
      const receipt = await bytes(`receipts/${index}`);
      const { size, paths } = verifyReceipt(receipt, [leaf], trust);
      expect([size > 750, paths[0].index]).toEqual([true, index]);
      const other = hashes.subarray(64, 96);
      expect(() => verifyReceipt(receipt, [other], trust)).toThrow('receipt: ');
    }
  });

  it('one request proves that the log begins with several smaller logs', async () => {
    const { size } = parseCheckpoint(splitNote((await bytes('checkpoint')).toString()).text);
    const leaves: Buffer[] = [];
    for (let index = 0; index * 256 < size; index += 1) {
      const width = Math.min(256, size - index * 256);
      const hashes = await bytes(tilePath({ level: 0, index, width }));
      for (let at = 0; at < hashes.length; at += 32) leaves.push(hashes.subarray(at, at + 32));
    }
    const sizes = [1, 2, 255, 256, 257, 700, size];
    const { body } = await plane.call('GET', `/log/consistency?from=${sizes.join(',')}&to=${size}`);
    for (const [at, first] of sizes.entries()) {
      const { fromSize, toSize, path } = body.proofs[at];
      const claim = { first, second: size, path: path.map(parseHash) };
      const [firstRoot, secondRoot] = [merkleRoot(leaves.slice(0, first)), merkleRoot(leaves)];
      expect([fromSize, toSize]).toEqual([first, size]);
      expect(verifyConsistency({ ...claim, firstRoot, secondRoot })).toBe(true);
      expect(verifyConsistency({ ...claim, firstRoot: leafHash('other'), secondRoot })).toBe(false);
    }
  });

  it('a request for consistency names at most limits.consistencySizes logs of at least one leaf', async () => {
    const ask = async (sizes: number, to: string): Promise<number> =>
      (await plane.call('GET', `/log/consistency?from=${Array(sizes).fill(1)}&to=${to}`)).status;
    expect(await ask(limits.consistencySizes, '2')).toBe(200);
    expect(await ask(limits.consistencySizes + 1, '2')).toBe(400);
    expect(await ask(1, '0')).toBe(400);
    expect(await ask(1, '1000000')).toBe(404);
  });

  it('clients may cache full tiles, and not partial ones', async () => {
    const full = await plane.call('GET', '/log/tile/0/000');
    expect(full.headers['cache-control']).toBe('private, max-age=31536000, immutable');
    expect((await plane.call('GET', '/log/tile/0/000.p/10')).headers['cache-control']).toBe('no-store');
    expect((await plane.call('GET', '/log/tile/0/000.p/10')).bytes).toEqual(full.bytes.subarray(0, 320));
  });

  it('the log has no tiles beyond the tree, with other names, or wider than the tree', async () => {
    for (const path of [
      '0/009',
      '2/000',
      '0/002.p/255',
      'entries/009',
      '0/0',
      '0/000.p/0',
      '0/000.p/256',
      'x',
      '..%2fkey',
      '1/000',
    ]) {
      expect((await plane.call('GET', `/log/tile/${path}`)).status, path).toBe(404);
    }
  });
});

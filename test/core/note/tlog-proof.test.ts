import { generateKeyPairSync } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { ed25519Signer, openCheckpoint, signCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { leafHash, merkleRoot, verifyInclusion } from '../../../src/core/merkle/tree.ts';
import { parseVerifierKey } from '../../../src/core/note/signed.ts';
import { inclusionProof } from '../../../src/core/merkle/tile.ts';
import { formatTlogProof, parseTlogProof } from '../../../src/core/note/tlog-proof.ts';

const origin = 'example.com/log';
const signer = ed25519Signer(origin, generateKeyPairSync('ed25519').privateKey);
const leaves = Array.from({ length: 100 }, (_, index) => leafHash(`record ${index}`));
const checkpoint = signCheckpoint({ origin, size: 100, root: merkleRoot(leaves), extensions: [] }, [signer]);
const proofOf = (index: number): Buffer[] => inclusionProof(index, 100, () => Buffer.concat(leaves));

describe('tlog-proof', () => {
  it('a tlog-proof has the form of C2SP tlog-proof v1', () => {
    const path = proofOf(7);
    const text = formatTlogProof({ index: 7, path, checkpoint, extra: Buffer.from('more') });
    const hashes = path.map((hash) => `${hash.toString('base64')}\n`).join('');
    expect(text).toBe(`c2sp.org/tlog-proof@v1\nextra bW9yZQ==\nindex 7\n${hashes}\n${checkpoint}`);
    expect(parseTlogProof(text)).toEqual({ index: 7, path, checkpoint, extra: Buffer.from('more') });
  });

  it('a tlog-proof proves its record under the trusted log key, and no other record', () => {
    fc.assert(
      fc.property(fc.nat(99), (index) => {
        const read = parseTlogProof(formatTlogProof({ index, path: proofOf(index), checkpoint }));
        expect(read).not.toHaveProperty('extra');
        const opened = openCheckpoint(read.checkpoint, [parseVerifierKey(signer.verifierKey)], origin);
        const claim = { index: read.index, path: read.path, ...opened.checkpoint };
        expect(verifyInclusion({ ...claim, leaf: leaves[index]! })).toBe(true);
        expect(verifyInclusion({ ...claim, leaf: leaves[(index + 1) % 100]! })).toBe(false);
      }),
    );
  });

  it('a tlog-proof in a log of one record has no path', () => {
    const text = formatTlogProof({ index: 0, path: [], checkpoint });
    expect(text.startsWith('c2sp.org/tlog-proof@v1\nindex 0\n\n')).toBe(true);
    expect(parseTlogProof(text).path).toEqual([]);
  });

  const hash = leaves[0]!.toString('base64');
  it.each([
    '',
    'c2sp.org/tlog-proof@v1',
    `c2sp.org/tlog-proof@v1\nindex 0\n${checkpoint}`.replace('\n\n', '\n'),
    `c2sp.org/tlog-proof@v2\nindex 0\n\n${checkpoint}`,
    ` c2sp.org/tlog-proof@v1\nindex 0\n\n${checkpoint}`,
    `c2sp.org/tlog-proof@v1\r\nindex 0\r\n\r\n${checkpoint}`,
    `c2sp.org/tlog-proof@v1\n\n${checkpoint}`,
    `c2sp.org/tlog-proof@v1\nindex\n\n${checkpoint}`,
    `c2sp.org/tlog-proof@v1\nindex 00\n\n${checkpoint}`,
    `c2sp.org/tlog-proof@v1\nindex -1\n\n${checkpoint}`,
    `c2sp.org/tlog-proof@v1\nindex 9007199254740992\n\n${checkpoint}`,
    `c2sp.org/tlog-proof@v1\nindex 0 \n\n${checkpoint}`,
    `c2sp.org/tlog-proof@v1\nindex 0\nextra bW9yZQ==\n\n${checkpoint}`,
    `c2sp.org/tlog-proof@v1\nextra bW9yZQ\nindex 0\n\n${checkpoint}`,
    `c2sp.org/tlog-proof@v1\nindex 0\n${hash.slice(0, -1)}\n\n${checkpoint}`,
    `c2sp.org/tlog-proof@v1\nindex 0\n${hash.slice(4)}\n\n${checkpoint}`,
    `c2sp.org/tlog-proof@v1\nindex 0\n${hash} \n\n${checkpoint}`,
    'c2sp.org/tlog-proof@v1\nindex 0\n\n',
  ])('parseTlogProof refuses %j', (text) => {
    expect(() => parseTlogProof(text)).toThrow('tlog-proof: expected');
  });

  it('formatTlogProof refuses members that cannot be read back', () => {
    for (const bad of [
      { index: -1 },
      { index: 2 ** 53 },
      { index: NaN },
      { path: [Buffer.alloc(31)] },
      { checkpoint: '' },
    ]) {
      expect(() => formatTlogProof({ index: 0, path: [], checkpoint, ...bad })).toThrow(
        'tlog-proof: expected',
      );
    }
  });

  it('a tlog-proof has at most one megabyte', () => {
    const text = formatTlogProof({ index: 0, path: [], checkpoint });
    const padding = 'x'.repeat(limits.noteBytes - Buffer.byteLength(text));
    expect(parseTlogProof(text + padding).checkpoint).toBe(checkpoint + padding);
    expect(() => parseTlogProof(`${text}${padding}x`)).toThrow('at most 1000000 bytes');
  });
});

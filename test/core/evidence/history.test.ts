import { expect, it } from 'vitest';
import { parseCheckpoint, signCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { judgeHistory } from '../../../src/core/evidence/history.ts';
import { SignedHead } from '../../../src/core/note/heads.ts';
import { naiveLeaf, naivePath, naiveRoot } from '../merkle/naive.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import { ed25519Signer, splitNote } from '../../../src/core/note/signed.ts';
import { bundleText } from '../../../src/core/proofs/bundle.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { logSigner, origin, privateKey, ProofLog, recordSampleRun, trust } from '../proofs/log.ts';

/** A head of `size` leaves of a history, with the paths of these leaves. */
function headOf(history: string, size: number, ...indexes: number[]): SignedHead {
  const leaves = Array.from({ length: size }, (_, n) => naiveLeaf(Buffer.from(`${history} ${n}`)));
  const checkpoint = { origin, size, root: naiveRoot(leaves), extensions: [] };
  const head = SignedHead.open(signCheckpoint(checkpoint, [logSigner]), trust);
  for (const index of indexes) head.add({ index, leaf: leaves[index]!, path: naivePath(index, leaves) });
  return head;
}

it.each([
  ['nothing was kept', [], [headOf('a', 5)], { result: 'first', kept: null }],
  ['the same head was kept', [headOf('a', 5)], [headOf('a', 5)], { result: 'extends', kept: 5 }],
  ['the file extends the kept head', [headOf('a', 5)], [headOf('a', 9, 4)], { result: 'extends', kept: 5 }],
  ['the file is older', [headOf('a', 9, 4)], [headOf('a', 5)], { result: 'extends', kept: 9 }],
  [
    'the file extends a smaller kept head alone',
    [headOf('a', 7), headOf('a', 3)],
    [headOf('a', 3), headOf('a', 12)],
    { result: 'not_compared', kept: 7 },
  ],
  ['no path compares them', [headOf('a', 5)], [headOf('a', 9)], { result: 'not_compared', kept: 5 }],
  ['the roots differ', [headOf('a', 5)], [headOf('b', 5)], { result: 'split', kept: 5 }],
  [
    'the file itself shows two histories',
    [],
    [headOf('a', 5), headOf('b', 9, 4)],
    { result: 'split', kept: 5 },
  ],
  ['a path convicts', [headOf('a', 5)], [headOf('b', 9, 4)], { result: 'split', kept: 5 }],
])('a history is judged where %s', (_, kept, heads, expected) => {
  expect(judgeHistory(kept, heads)).toMatchObject(expected);
});

it('a proof whose checkpoints were signed before and after a rotation shows both heads', () => {
  const log = new ProofLog();
  recordSampleRun(log);
  const bundle = log.prove('run-1');
  const rotated = ed25519Signer(origin, privateKey('rotated'));
  const { size } = parseCheckpoint(splitNote(bundle.proofCheckpoint).text);
  const bytes = Buffer.from(bundleText({ ...bundle, proofCheckpoint: log.checkpoint(size, [rotated]) }));
  const sizes: number[] = [];
  const seen = (heads: readonly SignedHead[]): void => void sizes.push(...heads.map((head) => head.size));
  verifyBundle(bytes, { ...trust, keys: [...trust.keys, parseVerifierKey(rotated.verifierKey)] }, { seen });
  expect(sizes).toHaveLength(2);
  expect(sizes[1]).toBe(size);
});

import { expect, it } from 'vitest';
import { signCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { judgeHistory } from '../../../src/core/evidence/history.ts';
import { SignedHead } from '../../../src/core/note/heads.ts';
import { naiveLeaf, naivePath, naiveRoot } from '../merkle/naive.ts';
import { logSigner, origin, trust } from '../proofs/log.ts';

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
    'one head of the file extends one of the kept heads',
    [headOf('a', 7), headOf('a', 3)],
    [headOf('a', 3), headOf('a', 12)],
    { result: 'extends', kept: 3 },
  ],
  ['no path compares them', [headOf('a', 5)], [headOf('a', 9)], { result: 'not_compared', kept: 5 }],
  ['the roots differ', [headOf('a', 5)], [headOf('b', 5)], { result: 'split', kept: 5 }],
  ['a path convicts', [headOf('a', 5)], [headOf('b', 9, 4)], { result: 'split', kept: 5 }],
])('a history is judged where %s', (_, kept, heads, expected) => {
  expect(judgeHistory(kept, heads)).toMatchObject(expected);
});

/**
 * Whether a newer tree of the log has the leaves of receipts. One consistency proof says it of all leaves of a receipt;
 * only where there is none, each leaf is looked up. Tested by `test/client/receipts/keeper.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { LeafPath } from '../../core/note/heads.ts';
import type { OpenReceipt } from './answered.ts';
import type { LogReader } from './log-reader.ts';

export interface LostLeaf {
  /** Position among the leaves of the receipt. */
  readonly at: number;
  readonly index: number;
  /** The leaf that the log has in its place; null where the log ends before. */
  readonly other: LeafPath | null;
}

/** `pending`: the tree is not large enough yet, and the receipt is younger than `limits.receiptSeconds`. */
export type ReceiptVerdict =
  | { readonly outcome: 'kept' | 'pending' }
  | { readonly outcome: 'lost'; readonly lost: readonly LostLeaf[] };

/** Throws the errors of the client, and `GovNetworkError` for proofs that are not of this tree. */
export async function judgeReceipts(
  receipts: readonly OpenReceipt[],
  log: LogReader,
  nowMs: number,
): Promise<ReceiptVerdict[]> {
  const proven = await log.beginsWith(receipts);
  const judged: ReceiptVerdict[] = [];
  for (const [at, receipt] of receipts.entries())
    judged.push(proven[at] === true ? { outcome: 'kept' } : await judgeLeaves(receipt, log, nowMs));
  return judged;
}

async function judgeLeaves(
  { first, leaves, atSeconds }: OpenReceipt,
  log: LogReader,
  nowMs: number,
): Promise<ReceiptVerdict> {
  const isYoung = nowMs <= (atSeconds + limits.receiptSeconds) * 1000;
  const lost: LostLeaf[] = [];
  let isPending = false;
  for (const [at, leaf] of leaves.entries()) {
    const index = first + at;
    const other = index < log.size ? await log.leaf(index) : null;
    if (other === null && isYoung) isPending = true;
    else if (other === null || Buffer.compare(leaf, other.leaf) !== 0) lost.push({ at, index, other });
  }
  if (lost.length > 0) return { outcome: 'lost', lost };
  return { outcome: isPending ? 'pending' : 'kept' };
}

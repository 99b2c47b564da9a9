/**
 * Evidence that a log lacks a leaf that it acknowledged, `kind: broken_receipt`:
 *
 *   receipt     a receipt (`src/core/receipt/cose.ts`), base64
 *   leaves      the hashes of its consecutive leaves
 *   checkpoint  a signed note of the log
 *   other       { index, leaf, inclusion }: another leaf in the place of one of them, with its path in the tree of the note;
 *               null where the log signed the note more than `limits.receiptSeconds` after the receipt, and its tree ends
 *               before the last leaf
 *
 * Only a time in a signature by the log itself counts (ML-DSA-44): a witness may cosign an old tree later.
 * Proven by `test/core/evidence/broken-receipt.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { hashText, parseHash } from '../hash.ts';
import { decodeBase64, encodeBase64 } from '../json/base64.ts';
import type { JsonObject } from '../json/parse.ts';
import { hash, list, refuse, text, type Location } from '../json/shape.ts';
import { inclusionRoot } from '../merkle/tree.ts';
import { openTrustedCheckpoint, type Trust } from '../note/checkpoint.ts';
import type { LeafPath } from '../note/heads.ts';
import { verifyReceipt, type VerifiedReceipt } from '../receipt/cose.ts';
import { formatTimestamp } from '../time.ts';
import { pathValue, readPath } from './paths.ts';
import type { VerdictCode } from '../proofs/verdict.ts';

export interface BrokenReceipt {
  readonly receipt: Uint8Array;
  readonly leaves: readonly Uint8Array[];
  /** The signed note. */
  readonly checkpoint: string;
  readonly other: LeafPath | null;
}

export const brokenReceiptMembers = ['checkpoint', 'leaves', 'other', 'receipt'] as const;

export const brokenReceiptValue = ({ receipt, leaves, checkpoint, other }: BrokenReceipt): JsonObject => ({
  receipt: encodeBase64(receipt),
  leaves: leaves.map(hashText),
  checkpoint,
  other: other === null ? null : pathValue(other),
});

/** Throws VALIDATION_ERROR. */
export function readBrokenReceipt(value: JsonObject, at: Location): BrokenReceipt {
  const receipt = decodeBase64(text(value, 'receipt', at));
  if (receipt === null) refuse({ up: at, name: 'receipt' }, 'base64', value['receipt']);
  const leaves = list(value, 'leaves', at, { max: limits.batchEvents, read: hash });
  const { other } = value;
  return {
    receipt,
    leaves: leaves.map((leaf) => parseHash(leaf) ?? Buffer.alloc(0)),
    checkpoint: text(value, 'checkpoint', at),
    other: other === null || other === undefined ? null : readPath(other, { up: at, name: 'other' }),
  };
}

/** `detail` is null for a path that is not of the tree of the checkpoint: `fault` says why nothing is shown. */
export type BrokenJudgement =
  | { readonly detail: string }
  | {
      readonly detail: null;
      readonly code: VerdictCode;
      readonly fault: string;
    };

/** Throws NoteError and VALIDATION_ERROR where the receipt or the checkpoint is not of this log. */
export function judgeBrokenReceipt(
  { receipt: bytes, leaves, checkpoint: note, other }: BrokenReceipt,
  trust: Trust,
): BrokenJudgement {
  const receipt = verifyReceipt(bytes, leaves, trust);
  const { checkpoint, signedBy } = openTrustedCheckpoint(note, trust);
  if (other === null) {
    const signedAt = Math.max(...signedBy.map(({ timestampSeconds }) => timestampSeconds ?? 0));
    return judgeMissing(receipt, { size: checkpoint.size, signedAt });
  }
  const root = inclusionRoot({ ...other, size: checkpoint.size });
  if (root === null || Buffer.compare(root, checkpoint.root) !== 0)
    return {
      detail: null,
      code: 'NOT_INCLUDED',
      fault: `the path of leaf ${other.index} does not lead to the root of the checkpoint`,
    };
  const leaf = leaves[other.index - receipt.paths[0].index];
  if (leaf === undefined) return nothing('the other leaf is not in the place of a leaf of the receipt');
  if (Buffer.compare(leaf, other.leaf) === 0) return nothing('the log has the leaf of the receipt');
  return {
    detail: `the log acknowledged leaf ${other.index} at ${timeOf(receipt.atSeconds)}, and its tree of ${checkpoint.size} leaves has another leaf in this place`,
  };
}

function judgeMissing(
  { paths: [first, last = first], atSeconds }: VerifiedReceipt,
  { size, signedAt }: { readonly size: number; readonly signedAt: number },
): BrokenJudgement {
  if (size > last.index) return nothing('the tree of the checkpoint is large enough for the leaves');
  if (signedAt <= atSeconds + limits.receiptSeconds)
    return nothing(
      `the log did not sign the checkpoint at a stated time more than ${limits.receiptSeconds} s after the receipt`,
    );
  return {
    detail: `the log acknowledged leaf ${last.index} at ${timeOf(atSeconds)}, and had only ${size} leaves at ${timeOf(signedAt)}`,
  };
}

const nothing = (fault: string): BrokenJudgement => ({
  detail: null,
  code: 'EVIDENCE_SHOWS_NOTHING',
  fault,
});

const timeOf = (seconds: number): string => formatTimestamp(seconds * 1000);

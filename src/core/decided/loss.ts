/**
 * The leaf of a loss, `gov.loss/1` (`docs/reference/proof-format.md`): the log had acknowledged leaves that its database no longer
 * has, because an older copy of the database took over. All of it is in clear. It is the first leaf after the loss.
 * Proven by `test/core/decided/loss.test.ts`.
 */
import { isObject } from '../json/object.ts';
import { readJson, type Json } from '../json/parse.ts';
import { draftLeaf, type OtherDraft } from '../events/record.ts';
import { hashText } from '../hash.ts';
import { formatTimestamp } from '../time.ts';

/** The newest head of a log that a process acknowledged. */
export interface AckedHead {
  readonly size: number;
  /** 32 bytes. */
  readonly root: Buffer;
  /** Server time of the newest leaf. */
  readonly atMs: number;
}

/** A type, not an interface, because it is JSON. */
export type Loss = {
  /** The first lost leaf. */
  readonly from: number;
  readonly lost: number;
  /** The acknowledged head, with the server time of its newest leaf. */
  readonly acked: { readonly size: number; readonly root: string; readonly at: string };
};

/** A loss as the log has it. */
export type LossRecord = Loss & {
  /** Server time of the leaf. */
  readonly at: string;
};

export const draftLoss = (loss: Loss, serverMs: number): OtherDraft =>
  draftLeaf('gov.loss/1', { ...loss, at: formatTimestamp(serverMs) });

/** Reads a loss; null for another record. Attacker controlled; never throws. */
export function readLoss(record: string): LossRecord | null {
  if (!record.includes('"type":"gov.loss/1"')) return null;
  let value: Json;
  try {
    value = readJson(record);
  } catch {
    return null;
  }
  if (!isObject(value) || value['type'] !== 'gov.loss/1') return null;
  const { at, from, lost, acked } = value;
  if (typeof at !== 'string' || !isCount(from) || !isCount(lost) || !isObject(acked)) return null;
  const { size, root, at: ackedAt } = acked;
  if (!isCount(size) || typeof root !== 'string' || typeof ackedAt !== 'string') return null;
  return { at, from, lost, acked: { size, root, at: ackedAt } };
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/**
 * The loss to record where the log lacks an acknowledged head; null where `newest`, the newest loss in the log, covers
 * it. `sizeThen` is how many leaves of the log are not newer than the head: later ones belong to the other history.
 */
export function lossOf(
  { size, root, atMs }: AckedHead,
  { newest, sizeThen }: { readonly newest: LossRecord | null; readonly sizeThen: number },
): Loss | null {
  const at = formatTimestamp(atMs);
  const isSame = newest !== null && at < newest.at;
  if (isSame && size <= newest.acked.size) return null;
  // a head with another root lacks one leaf at least
  const from = Math.min(isSame ? newest.acked.size : sizeThen, size - 1);
  return { from, lost: size - from, acked: { size, root: hashText(root), at } };
}

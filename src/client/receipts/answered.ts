/**
 * The receipt in the answer to a batch (contract P29), with the events and leaves that it is about. The spool keeps it as
 * JSON next to the events. Tested by `test/client/receipts/keeper.test.ts`.
 */
import type { BatchResult } from '../../contract/events.ts';
import { GovError } from '../../contract/problems.ts';
import { parseHash } from '../../core/hash.ts';
import { eventIndex } from '../../core/id.ts';
import { readReceipt, rootOf } from '../../core/receipt/cose.ts';

export interface BatchReceipt {
  /** COSE, base64url, as the header of the answer had it. */
  readonly receipt: string;
  /** For each leaf the position of its event in the batch. */
  readonly events: readonly number[];
  readonly eventIds: readonly string[];
  /** The leaf hashes, in order. */
  readonly leaves: readonly string[];
}

/**
 * The receipt of an answer; null where it has none, or one that is not about its events: an older service, or one without
 * receipts. Never throws. Attacker controlled.
 */
export function receiptOf(header: string | undefined, results: readonly BatchResult[]): BatchReceipt | null {
  if (header === undefined) return null;
  const read = readHeader(header);
  if (read === null) return null;
  const [first, last = first] = read.paths;
  const events: number[] = [];
  const eventIds: string[] = [];
  const leaves: string[] = [];
  for (const [at, { status, eventId, leafHash }] of results.entries()) {
    const index = status === 'accepted' && eventId !== null ? eventIndex(eventId) : null;
    // an event outside of the range repeats an earlier one, and so does a second one with the same index
    if (eventId === null || index !== first.index + leaves.length) continue;
    if (index > last.index || leafHash === undefined) continue;
    events.push(at);
    eventIds.push(eventId);
    leaves.push(leafHash);
  }
  const receipt = { receipt: header, events, eventIds, leaves };
  return openReceipt(receipt) === null ? null : receipt;
}

/** A receipt whose leaves lead to a root. No signature of it was verified. */
export interface OpenReceipt {
  readonly bytes: Buffer;
  /** Leaves of the tree that the log signed. */
  readonly size: number;
  readonly root: Uint8Array;
  /** Unix seconds. */
  readonly atSeconds: number;
  /** Index of the first leaf. */
  readonly first: number;
  readonly leaves: readonly Buffer[];
}

/** Null where the leaves do not lead to one root. Cost: a hash for each leaf, and one for each hash of the paths. */
export function openReceipt({
  receipt,
  leaves: texts,
}: Pick<BatchReceipt, 'receipt' | 'leaves'>): OpenReceipt | null {
  const read = readHeader(receipt);
  if (read === null) return null;
  const leaves = texts.flatMap((text) => parseHash(text) ?? []);
  const root = leaves.length === texts.length ? rootOf(read, leaves) : null;
  if (root === null) return null;
  const { size, atSeconds, paths } = read;
  return { bytes: Buffer.from(receipt, 'base64url'), size, root, atSeconds, first: paths[0].index, leaves };
}

/** The origin of the log that signed it. */
export const originOf = ({ receipt }: Pick<BatchReceipt, 'receipt'>): string | null =>
  readHeader(receipt)?.origin ?? null;

function readHeader(header: string): ReturnType<typeof readReceipt> | null {
  const bytes = Buffer.from(header, 'base64url');
  if (bytes.toString('base64url') !== header) return null;
  try {
    return readReceipt(bytes);
  } catch (cause) {
    if (cause instanceof GovError) return null;
    throw cause;
  }
}

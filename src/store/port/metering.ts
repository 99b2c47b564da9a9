/**
 * Reads of the metering log beside those of its records (`StoreReader.leaves`): what binds a leaf to the audit leaves that
 * it covers, which leaf covers an audit leaf, and how many count nothing. What a plane reports and attests.
 * Proven by `test/store/suite/log/meter.ts`.
 */

/** A leaf of the metering log with what only its owner knows: the audit leaves [firstAuditIndex, firstAuditIndex + count). */
export interface StoredMeterLeaf {
  readonly index: number;
  readonly record: string;
  /** RFC 6962 leaf hash of the record, 32 bytes, which is the one in the tree. */
  readonly hash: Buffer;
  readonly firstAuditIndex: number;
  readonly count: number;
  /** Of `meterRef`, 16 bytes. */
  readonly nonce: Buffer;
}

export interface MeterReader {
  /** Null beyond the log. */
  meterLeaf(projectId: string, index: number): Promise<StoredMeterLeaf | null>;
  /** The leaves with these indexes, in this order, in one read; those beyond the log are left out. */
  meterLeaves(projectId: string, indexes: readonly number[]): Promise<StoredMeterLeaf[]>;
  /** Index of the leaf that covers an audit leaf; null where there is none. Cost: log n look-ups. */
  meterIndexOf(projectId: string, auditIndex: number): Promise<number | null>;
  /**
   * Leaves of [from, to) that count nothing. Their records are not compared with their hashes, as `leaves` does. Reads
   * them all, some thousands at a time.
   */
  unmeteredLeaves(projectId: string, range: { readonly from: number; readonly to: number }): Promise<number>;
}

/** SQL of both engines: how a record that counts nothing is told, without parsing it. */
export const unmeteredText = '"op":"none"';

/** The last of `size` leaves whose first audit index is not above `auditIndex`; asks for `atOnce` of them at a time. */
export async function lastFrom(
  auditIndex: number,
  { size, atOnce }: { readonly size: number; readonly atOnce: number },
  firstIndexes: (indexes: readonly number[]) => number[] | Promise<number[]>,
): Promise<number | null> {
  let low = -1; // known not to be above, or before the log
  let high = size;
  while (high - low > 1) {
    const span = high - low;
    const parts = Math.min(atOnce + 1, span);
    const asked = Array.from({ length: parts - 1 }, (_, at) => low + Math.floor(((at + 1) * span) / parts));
    const found = await firstIndexes(asked);
    const above = found.findIndex((first) => first > auditIndex);
    const end = above === -1 ? asked.length : above;
    high = asked[end] ?? high;
    low = asked[end - 1] ?? low;
  }
  return low === -1 ? null : low;
}

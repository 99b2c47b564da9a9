/**
 * Reads of the metering log, except its records (`StoreReader.leaves`).
 * They answer which audit leaves a metering leaf covers, which leaf covers an audit leaf, and how many leaves
 * count no units. A plane uses them for reports and attestations.
 * Proven by `test/store/suite/log/meter.ts`.
 */

/**
 * A leaf of the metering log with its private part: it covers the audit leaves [firstAuditIndex,
 * firstAuditIndex + count).
 */
export interface StoredMeterLeaf {
  readonly index: number;
  readonly record: string;
  /** RFC 6962 leaf hash of the record, 32 bytes, as the tree has it. */
  readonly hash: Buffer;
  readonly firstAuditIndex: number;
  readonly count: number;
  /** The nonce of `meterRef`, 16 bytes. */
  readonly nonce: Buffer;
}

export interface MeterReader {
  /** Null beyond the log. */
  meterLeaf(projectId: string, index: number): Promise<StoredMeterLeaf | null>;
  /** The leaves with these indexes, in this order, in one read. Leaves out indexes beyond the log. */
  meterLeaves(projectId: string, indexes: readonly number[]): Promise<StoredMeterLeaf[]>;
  /** Index of the leaf that covers an audit leaf, or null. Cost: log n look-ups. */
  meterIndexOf(projectId: string, auditIndex: number): Promise<number | null>;
  /**
   * Counts the leaves of [from, to) that count no units. Unlike `leaves`, it does not compare records with
   * their hashes. Reads them all, some thousands at a time.
   */
  unmeteredLeaves(projectId: string, range: { readonly from: number; readonly to: number }): Promise<number>;
}

/** The text in a record that counts no units. SQL of both engines finds it without parsing the record. */
export const unmeteredText = '"op":"none"';

/**
 * Finds the last of `size` leaves whose first audit index is at most `auditIndex`, or null. Reads at most
 * `atOnce` leaves at a time.
 */
export async function lastFrom(
  auditIndex: number,
  { size, atOnce }: { readonly size: number; readonly atOnce: number },
  firstIndexes: (indexes: readonly number[]) => number[] | Promise<number[]>,
): Promise<number | null> {
  let low = -1; // known to be at most `auditIndex`, or before the log
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

/** A metering leaf with its row. */

export interface MeterRow {
  readonly idx: number;
  readonly record: string;
  readonly firstIndex: number;
  readonly leafCount: number;
  readonly nonce: Buffer;
}

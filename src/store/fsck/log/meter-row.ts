/**
 * The row of a metering leaf, as the checks read it.
 * Proven by `test/store/fsck/tamper.test.ts`.
 */

export interface MeterRow {
  readonly idx: number;
  readonly record: string;
  readonly firstIndex: number;
  readonly leafCount: number;
  readonly nonce: Buffer;
}

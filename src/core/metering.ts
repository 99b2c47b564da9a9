/**
 * The metering log: one leaf for each request that appended to the audit log, with running totals, so that
 * the counts of any period follow from two leaves. `ref` binds the leaf to the audit leaves it covers without
 * showing them. Proven by `test/core/metering.test.ts`.
 */
import { meteredTypes, type MeteredType } from '../contract/operation.ts';
import { sha256 } from './hash.ts';
import { canonicalize } from './json.ts';
import { merkleRoot } from './merkle.ts';

export type MeterOp = MeteredType | 'none';
export type Totals = Readonly<Record<MeteredType, number>>;

export const zeroTotals: Totals = Object.freeze(
  Object.fromEntries(meteredTypes.map((type) => [type, 0])) as Record<MeteredType, number>,
);

/** `totals` with `op` raised by `units`; `none` counts nothing. */
export function addUnits(totals: Totals, op: MeterOp, units: number): Totals {
  if (op === 'none') {
    if (units !== 0) throw new Error(`an unmetered leaf has 0 units, got ${units}`);
    return totals;
  }
  if (!Number.isSafeInteger(units) || units < 1)
    throw new Error(`a metered leaf has at least 1 unit, got ${units}`);
  return { ...totals, [op]: totals[op] + units };
}

export interface MeterLeaf {
  readonly op: MeterOp;
  readonly units: number;
  /** Server time, `YYYY-MM-DDTHH:mm:ss.sssZ`. */
  readonly at: string;
  readonly ref: string;
  /** Totals after this leaf. */
  readonly totals: Totals;
}

export const meterRecord = (leaf: MeterLeaf): string => canonicalize({ type: 'gov.meter/1', ...leaf });

/** Binds a meter leaf to the audit leaves [firstIndex, firstIndex + leaves.length). `nonce`: 16 bytes. */
export function meterRef(nonce: Uint8Array, firstIndex: number, leaves: readonly Uint8Array[]): string {
  const numbers = Buffer.alloc(12);
  numbers.writeBigUInt64BE(BigInt(firstIndex), 0);
  numbers.writeUInt32BE(leaves.length, 8);
  return sha256(
    Buffer.concat([Buffer.from('gov.meterref/v1\n'), nonce, numbers, merkleRoot(leaves)]),
  ).toString('base64url');
}

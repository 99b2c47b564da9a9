/**
 * The metering log: one leaf for each request that appended to the audit log, with running totals, so that
 * the counts of any period follow from two leaves. `ref` binds the leaf to the audit leaves it covers without
 * showing them. Proven by `test/core/metering.test.ts`.
 */
import { meteredTypes, type MeteredType } from '../contract/operation.ts';
import { sha256 } from './hash.ts';
import { hashBytes, merkleRoot } from './merkle.ts';

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

const sortedTypes = meteredTypes.toSorted();

/** JCS of the leaf with its type; every value is a number, or a text without characters that JSON escapes. */
export function meterRecord({ op, units, at, ref, totals }: MeterLeaf): string {
  const counts = sortedTypes.map((type) => `"${type}":${totals[type]}`).join(',');
  return (
    `{"at":"${at}","op":"${op}","ref":"${ref}","totals":{${counts}},` +
    `"type":"gov.meter/1","units":${units}}`
  );
}

const label = 'gov.meterref/v1\n';

/** Binds a meter leaf to the audit leaves [firstIndex, firstIndex + leaves.length). `nonce`: 16 bytes. */
export function meterRef(nonce: Uint8Array, firstIndex: number, leaves: readonly Uint8Array[]): string {
  const preimage = Buffer.alloc(label.length + 16 + 8 + 4 + hashBytes);
  preimage.write(label);
  preimage.set(nonce, label.length);
  preimage.writeBigUInt64BE(BigInt(firstIndex), label.length + 16);
  preimage.writeUInt32BE(leaves.length, label.length + 24);
  preimage.set(merkleRoot(leaves), label.length + 28);
  return sha256(preimage).toString('base64url');
}

/**
 * The metering log: one leaf for each request that appended to the audit log, with running totals, so that the counts of
 * any period follow from two leaves. `ref` binds the leaf to the audit leaves that it covers without disclosing them.
 * Proven by `test/core/planes/metering.test.ts`.
 */
import { hash } from 'node:crypto';
import { meteredTypes, type MeteredType } from '../../contract/operation.ts';
import { hashBytes, merkleRoot } from '../merkle/tree.ts';
import { parseTimestamp } from '../time.ts';

export type MeterOp = MeteredType | 'none';
export type Totals = Readonly<Record<MeteredType, number>>;

export const zeroTotals: Totals = Object.freeze(
  Object.fromEntries(meteredTypes.map((type) => [type, 0])) as Record<MeteredType, number>,
);

/** Returns `totals` with `op` increased by `units`; `none` counts nothing. Throws for an invalid count: a bug. */
export function addUnits(totals: Totals, op: MeterOp, units: number): Totals {
  if (op === 'none') {
    if (units !== 0) throw new Error(`expected 0 units in an unmetered leaf, got ${units}`);
    return totals;
  }
  if (!Number.isSafeInteger(units) || units < 1)
    throw new Error(`expected at least 1 unit in a metered leaf, got ${units}`);
  return { ...totals, [op]: totals[op] + units };
}

/** Returns a sum of units for JSON: at most 2^53-1, the largest exact count. */
export const countable = (units: number): number => Math.min(units, Number.MAX_SAFE_INTEGER);

/** Returns the sums by type, for JSON. */
export const addTotals = (one: Totals, other: Totals): Totals =>
  Object.fromEntries(meteredTypes.map((type) => [type, countable(one[type] + other[type])])) as Record<
    MeteredType,
    number
  >;

/** Units of all types. The sum numbers the units: unit n belongs to the leaf whose sum of totals first reaches n. */
export const sumOf = (totals: Totals): number => meteredTypes.reduce((sum, type) => sum + totals[type], 0);

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

/** SQL of the time in the column `record` of `meterRecord`. */
export const meterTime = 'substr(record, 8, 24)';

/** Returns the JCS of the leaf with its type; every value is a number or a text without characters that JSON escapes. */
export function meterRecord({ op, units, at, ref, totals }: MeterLeaf): string {
  const counts = sortedTypes.map((type) => `"${type}":${totals[type]}`).join(',');
  return (
    `{"at":"${at}","op":"${op}","ref":"${ref}","totals":{${counts}},` +
    `"type":"gov.meter/1","units":${units}}`
  );
}

const number = '(0|[1-9][0-9]{0,15})';
const recordForm = new RegExp(
  `^\\{"at":"([0-9TZ:.-]{24})","op":"(${meteredTypes.join('|')}|none)","ref":"([\\w-]{43})",` +
    `"totals":\\{${sortedTypes.map((type) => `"${type}":${number}`).join(',')}\\},` +
    `"type":"gov\\.meter/1","units":${number}\\}$`,
);

/**
 * Reads the leaf of a record strictly: null for every text that `meterRecord` does not write for a valid leaf. `none` has
 * 0 units, every other op at least 1 and at most its total, and the sum of totals is at most 2^53−1. Attacker controlled.
 * Cost: about 2 µs.
 */
export function parseMeterRecord(record: string): MeterLeaf | null {
  const found = recordForm.exec(record);
  if (found === null) return null;
  const [, at = '', op = '', ref = '', ...numbers] = found;
  const counts = numbers.slice(0, sortedTypes.length).map(Number);
  const totals = Object.fromEntries(sortedTypes.map((type, n) => [type, counts[n]])) as Totals;
  const leaf = { at, op: op as MeterOp, ref, totals, units: Number(numbers.at(-1)) }; // the form admits no other op
  return isLeaf(leaf) ? leaf : null;
}

function isLeaf({ at, op, ref, totals, units }: MeterLeaf): boolean {
  if (!at.endsWith('Z') || at[19] !== '.' || parseTimestamp(at) === null) return false;
  if (Buffer.from(ref, 'base64url').toString('base64url') !== ref) return false;
  if (!Number.isSafeInteger(sumOf(totals))) return false;
  return op === 'none' ? units === 0 : units >= 1 && units <= totals[op];
}

const label = 'gov.meterref/v1\n';
export const meterNonceBytes = 16;
/** Buffer for the preimage: label, nonce, first index in 8 bytes, count in 4, root. */
const preimage = Buffer.alloc(label.length + meterNonceBytes + 8 + 4 + hashBytes);
preimage.write(label);

/** Returns the ref that binds a meter leaf to the given audit leaves from `firstIndex` on. `nonce`: 16 bytes. */
export const meterRef = (nonce: Uint8Array, firstIndex: number, leaves: readonly Uint8Array[]): string =>
  meterRefOf({ nonce, firstIndex, count: leaves.length, root: merkleRoot(leaves) });

/**
 * The same from the root of the covered leaves, 32 bytes. `firstIndex` up to 2^53−1, `count` below 2^32. Throws RangeError
 * for another length of nonce or root.
 */
export function meterRefOf(covered: {
  readonly nonce: Uint8Array;
  readonly firstIndex: number;
  readonly count: number;
  readonly root: Uint8Array;
}): string {
  const { nonce, root } = covered;
  if (nonce.length !== meterNonceBytes || root.length !== hashBytes) {
    throw new RangeError(
      `expected ${meterNonceBytes} and ${hashBytes} bytes, got ${nonce.length} and ${root.length}`,
    );
  }
  if (!Number.isSafeInteger(covered.firstIndex)) {
    throw new RangeError(`expected a first index up to 2^53-1, got ${covered.firstIndex}`);
  }
  const at = label.length;
  preimage.set(nonce, at);
  preimage.writeUInt32BE(Math.floor(covered.firstIndex / 2 ** 32), at + 16);
  preimage.writeUInt32BE(covered.firstIndex % 2 ** 32, at + 20);
  preimage.writeUInt32BE(covered.count, at + 24);
  preimage.set(root, at + 28);
  return hash('sha256', preimage, 'base64url');
}

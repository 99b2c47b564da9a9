import { describe, expect, it } from 'vitest';
import { canonicalText, type Json } from '../../../src/core/json/parse.ts';
import { leafHash, merkleRoot, nodeHash } from '../../../src/core/merkle/tree.ts';
import { ed25519Signer, signCheckpoint, type Trust } from '../../../src/core/note/checkpoint.ts';
import { addUnits, meterRecord, zeroTotals, type MeterOp } from '../../../src/core/planes/metering.ts';
import { pathText } from '../../../src/core/proofs/bundle.ts';
import { checkUnits, unitsText, unitsTable, type UnitsCut } from '../../../src/core/reports/units.ts';
import { formatTimestamp } from '../../../src/core/time.ts';
import { origin, privateKey, trust } from '../proofs/log.ts';

const hour = 3_600_000;
const day = 24 * hour;
const start = Date.UTC(2026, 0, 5);

const counted: readonly (readonly [ms: number, op: MeterOp, units: number])[] = [
  [start - 1, 'audit_event', 7],
  [start, 'audit_event', 2],
  [start + day - 1, 'compliance_proof', 1],
  [start + day, 'risk_decision', 1],
  [start + day + hour, 'none', 0],
  [start + 3 * day, 'audit_event', 3],
  [start + 4 * day, 'audit_event', 9],
];
let totals = zeroTotals;
const records = counted.map(([ms, op, units]) => {
  totals = addUnits(totals, op, units);
  return meterRecord({ op, units, at: formatTimestamp(ms), ref: 'A'.repeat(43), totals });
});

/** RFC 6962 § 2.1.1, by its definition. */
function pathOf(index: number, leaves: readonly Uint8Array[]): Uint8Array[] {
  if (leaves.length === 1) return [];
  const half = 2 ** Math.floor(Math.log2(leaves.length - 1));
  const [left, right] = [leaves.slice(0, half), leaves.slice(half)];
  return index < half
    ? [...pathOf(index, left), merkleRoot(right)]
    : [...pathOf(index - half, right), merkleRoot(left)];
}
const hashes = records.map(leafHash);
expect(merkleRoot(hashes.slice(0, 2))).toEqual(nodeHash(hashes[0]!, hashes[1]!));

const meteringOrigin = origin.replace(/audit$/, 'metering/0');
const note = (named = meteringOrigin, key = 'log') =>
  signCheckpoint(
    { origin: named, size: hashes.length, root: merkleRoot(hashes), extensions: [] },
    [ed25519Signer(named, privateKey(key))],
    { timestampSeconds: 0 },
  );

const cutsOf = (...cuts: (readonly [number, number])[]): UnitsCut[] =>
  cuts.map(([ms, index]) => ({ ms, index }));
const honest = cutsOf(
  [start, 1],
  [start + day, 3],
  [start + 2 * day, 5],
  [start + 3 * day, 5],
  [start + 4 * day, 6],
);

function fileOf(cuts = honest, { checkpoint = note(), without = -1 } = {}): Buffer {
  const shown = new Set(cuts.flatMap(({ index }) => [index - 1, index]));
  const leaves = [...shown]
    .filter((index) => index >= 0 && index < records.length && index !== without)
    .map((index) => ({ index, record: records[index]!, inclusion: pathText(pathOf(index, hashes)) }));
  return Buffer.from(unitsText({ checkpoint, leaves, cuts }));
}

const rows = [
  ['2026-01-05', 2, 1, 0, 0],
  ['2026-01-06', 0, 0, 1, 0],
  ['2026-01-08', 3, 0, 0, 0],
];
const reportOf = (table: readonly Json[] = rows, end = start + 4 * day - 1) =>
  ({
    parameters: { startTime: formatTimestamp(start), endTime: formatTimestamp(end) },
    tables: [{ id: unitsTable, rows: table }],
  }) as unknown as Parameters<typeof checkUnits>[1];
const check = (bytes: Uint8Array, of = reportOf(), by: Trust = trust): string | null =>
  checkUnits(bytes, of, { trust: by, table: unitsTable })?.code ?? null;

describe('the proof of units by day', () => {
  it('proves exactly the rows that follow from the leaves around each day', () => {
    expect(check(fileOf())).toBeNull();
    for (const wrong of [
      rows.slice(1),
      [...rows, rows[0]!],
      rows.map(([name, ...units]) => [name!, ...units.map((n) => Number(n) + 1)]),
    ])
      expect(check(fileOf(), reportOf(wrong))).toBe('ROW_MISMATCH');
  });

  it('covers a period before the first leaf, and one that ends after the last', () => {
    const end = start + 9 * day;
    const all = cutsOf(
      [start - 9 * day, 0],
      [start - day, 0],
      [start, 1],
      ...honest.slice(1).map(({ ms, index }) => [ms, index] as const),
      [start + 5 * day, 7],
      [end, 7],
    );
    const made = [['2026-01-04', 7, 0, 0, 0], ...rows, ['2026-01-09', 9, 0, 0, 0]];
    const of = reportOf(made, end - 1);
    const early = { ...of, parameters: { ...of.parameters, startTime: formatTimestamp(start - 9 * day) } };
    expect(check(fileOf(all), early)).toBeNull();
  });

  it('refuses cuts that leave out, add or move units', () => {
    const moved = (at: number, index: number) => honest.map((cut, n) => (n === at ? { ...cut, index } : cut));
    for (const cuts of [
      moved(0, 0),
      moved(0, 2),
      moved(1, 2),
      moved(1, 4),
      moved(4, 5),
      moved(4, 7),
      moved(4, 8),
    ])
      expect(check(fileOf(cuts))).toBe('ANSWER_INVALID');
    // the units of two days as those of one, and a period that is not that of the report
    for (const cuts of [honest.filter((_, at) => at !== 1), honest.slice(1), honest.slice(0, -1), []])
      expect(check(fileOf(cuts))).toBe('ANSWER_INVALID');
    // one day in two parts makes two rows of it
    expect(check(fileOf([honest[0]!, { ms: start + hour, index: 2 }, ...honest.slice(1)]))).toBe(
      'ANSWER_INVALID',
    );
  });

  it('refuses a cut without the leaf on one of its sides', () => {
    for (const without of [0, 1, 2, 3, 4, 5, 6])
      expect([without, check(fileOf(honest, { without }))]).toEqual([without, 'ANSWER_INVALID']);
  });

  it('refuses the log of another project, another key, and every changed byte of a record', () => {
    for (const checkpoint of [
      note('gov.local/prj_other/metering/0'),
      note(origin),
      note(`${meteringOrigin}1`),
      note(meteringOrigin, 'another'),
      'no note',
    ])
      expect(check(fileOf(honest, { checkpoint }))).toBe('ANSWER_INVALID');
    const text = fileOf().toString();
    expect(check(Buffer.from(text.replaceAll('\\"audit_event\\":9', '\\"audit_event\\":8')))).toBe(
      'NOT_INCLUDED',
    );
    expect(check(Buffer.from(text.replace('"cuts"', '"more":1,"cuts"')))).toBe('ANSWER_INVALID');
    expect(check(Buffer.from(text.replace('units.v1', 'units.v2')))).toBe('ANSWER_INVALID');
    expect(check(Buffer.from(canonicalText(null)))).toBe('ANSWER_INVALID');
  });
});

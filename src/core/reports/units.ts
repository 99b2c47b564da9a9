/**
 * The proof of units by day, `*.govunits.json`: leaves of the metering log around the ends of days. Each leaf has running
 * totals, so the units between two times follow from the last leaf before each. One JSON object (unknown members are
 * refused):
 *
 *   mediaType   application/vnd.gov.units.v1+json
 *   checkpoint  the signed note of the metering log
 *   leaves      { index, record, inclusion }: those on both sides of each cut, in order
 *   cuts        { at, index }: the leaves below `index` are of before this time, the others are not
 *
 * Verifying: 1 strict parse; 2 a trusted key signed the checkpoint, and it is of the metering log that belongs to the log of the
 * trust; 3 each leaf is in its tree; 4 the times of the two leaves at each cut say so; 5 the cuts begin and end with the
 * period, and units are counted only between two cuts of one day. Attacker controlled; nothing here throws. Proven by
 * `test/core/reports/units.test.ts`.
 */
import { meteredTypes } from '../../contract/operation.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { canonicalText, largeBounds, parseJson, type Json } from '../json/parse.ts';
import { count, list, object, refuse, text, type Location } from '../json/shape.ts';
import { leafHash, verifyInclusion } from '../merkle/tree.ts';
import { openCheckpoint, type Checkpoint, type Trust } from '../note/checkpoint.ts';
import { parseVerifierKey, verifierKeyText } from '../note/key.ts';
import { parseMeterRecord, zeroTotals, type MeterLeaf, type Totals } from '../planes/metering.ts';
import { pathHashes, type IncludedRecord } from '../proofs/bundle.ts';
import { Fault } from '../proofs/completeness.ts';
import { readIncluded } from '../proofs/read-bundle.ts';
import type { Report } from './model.ts';
import { formatTimestamp, parseTimestamp } from '../time.ts';

const unitsMediaType = 'application/vnd.gov.units.v1+json';

/** The table that the file is about. */
export const unitsTable = 'units-by-day';

export interface UnitsCut {
  readonly ms: number;
  /** The first leaf that is not before it; the size of the tree for none. */
  readonly index: number;
}

interface Units {
  readonly checkpoint: string;
  readonly leaves: readonly IncludedRecord[];
  readonly cuts: readonly UnitsCut[];
}

/** `YYYY-MM-DD` of a time, in UTC. */
const dayOf = (ms: number): string => formatTimestamp(ms).slice(0, 10);

/** Units in the order of the columns of the table. */
const unitsBetween = (before: Totals, after: Totals): number[] =>
  meteredTypes.map((type) => after[type] - before[type]);

export const unitsText = ({ checkpoint, leaves, cuts }: Units): string =>
  canonicalText({
    mediaType: unitsMediaType,
    checkpoint,
    leaves: leaves.map(({ index, record, inclusion }) => ({ index, record, inclusion: [...inclusion] })),
    cuts: cuts.map(({ ms, index }) => ({ at: formatTimestamp(ms), index })),
  });

/**
 * Why the file `TABLE.govunits.json` does not prove that table of a report; null where the table has exactly the rows that follow
 * from it. Cost: one signature, and one inclusion proof for each leaf.
 */
export function checkUnits(
  bytes: Uint8Array,
  { parameters, tables }: Pick<Report, 'parameters' | 'tables'>,
  { trust, table: id }: { readonly trust: Trust; readonly table: string },
): Fault | null {
  const sinceMs = parseTimestamp(parameters.startTime) ?? -1;
  const untilMs = (parseTimestamp(parameters.endTime) ?? -2) + 1;
  const rows = verifyUnits(bytes, { trust, sinceMs, untilMs });
  if (rows instanceof Fault) return rows;
  const table = tables.find((each) => each.id === id);
  const isSame = table !== undefined && JSON.stringify(rows) === JSON.stringify(table.rows);
  return isSame ? null : new Fault('ROW_MISMATCH', `the table ${id} has other units than the metering log`);
}

/** A day with units, and its row of the table. */
type UnitsRow = readonly [day: string, ...units: number[]];

/** The rows that the file proves for a period. `untilMs` is not in the period. */
function verifyUnits(
  bytes: Uint8Array,
  { trust, sinceMs, untilMs }: { trust: Trust; sinceMs: number; untilMs: number },
): readonly UnitsRow[] | Fault {
  try {
    const { checkpoint, leaves, cuts } = readUnits(bytes);
    const origin = meteringOriginOf(trust.origin);
    const keys = trust.keys.map(({ algorithm, publicKey }) =>
      parseVerifierKey(verifierKeyText(origin, algorithm, publicKey)),
    );
    const opened = openCheckpoint(checkpoint, keys, origin);
    if (opened.signedBy.length === 0)
      return new Fault('SIGNATURE_INVALID', `no trusted key signed the checkpoint of ${origin}`);
    const shown = leavesOf(leaves, opened.checkpoint);
    if (shown instanceof Fault) return shown;
    const [first, last] = [cuts[0]?.ms, cuts.at(-1)?.ms];
    if (first !== sinceMs || last !== untilMs) return invalid('the cuts are not those of the period');
    return rowsOf(cuts, { shown, size: opened.checkpoint.size });
  } catch (error) {
    if (error instanceof GovError) return new Fault('ANSWER_INVALID', error.message);
    throw error;
  }
}

const invalid = (detail: string): Fault => new Fault('ANSWER_INVALID', detail);

/** The metering log beside an audit log: `X/metering/0` of `X/audit`, `X/metering/2` of `X/audit/2`. */
function meteringOriginOf(auditOrigin: string): string {
  const [, log = '', epoch = '0'] = /^(.+)\/audit(?:\/([1-9][0-9]*))?$/.exec(auditOrigin) ?? [];
  if (log === '') throw new GovError('VALIDATION_ERROR', `expected an origin …/audit, got ${auditOrigin}`);
  return `${log}/metering/${epoch}`;
}

/** Step 3. */
function leavesOf(
  leaves: readonly IncludedRecord[],
  { size, root }: Checkpoint,
): ReadonlyMap<number, MeterLeaf> | Fault {
  const shown = new Map<number, MeterLeaf>();
  for (const { index, record, inclusion } of leaves) {
    const leaf = leafHash(record);
    if (!verifyInclusion({ index, size, leaf, path: pathHashes(inclusion), root }))
      return new Fault('NOT_INCLUDED', `metering leaf ${index} has no valid inclusion proof`);
    const read = parseMeterRecord(record);
    if (read === null) return invalid(`leaf ${index}: expected a gov.meter/1 leaf`);
    shown.set(index, read);
  }
  return shown;
}

/** Steps 4 and 5. */
function rowsOf(
  cuts: readonly UnitsCut[],
  { shown, size }: { shown: ReadonlyMap<number, MeterLeaf>; size: number },
): readonly UnitsRow[] | Fault {
  const timeOf = (index: number): number | null => parseTimestamp(shown.get(index)?.at ?? '');
  const rows: UnitsRow[] = [];
  let previous: { ms: number; totals: Totals } | null = null;
  for (const { ms, index } of cuts) {
    const [before, after] = [timeOf(index - 1), timeOf(index)];
    const isCut =
      index <= size &&
      (index === 0 || (before !== null && before < ms)) &&
      (index === size || (after !== null && after >= ms));
    if (!isCut)
      return invalid(`the leaves shown at ${formatTimestamp(ms)} are not those on both sides of it`);
    const totals = shown.get(index - 1)?.totals ?? zeroTotals;
    if (previous !== null) {
      const units = unitsBetween(previous.totals, totals);
      if (ms <= previous.ms || units.some((n) => n < 0)) return invalid('times or totals go back');
      const day = dayOf(previous.ms);
      const isOneDay = dayOf(ms - 1) === day;
      if (units.some((n) => n > 0)) {
        if (!isOneDay || rows.at(-1)?.[0] === day)
          return invalid(`the units of ${day} are not those of one day`);
        rows.push([day, ...units]);
      }
    }
    previous = { ms, totals };
  }
  return rows;
}

const root: Location = { file: 'units' };
/** A cut at both ends of each day, and of the period. */
const mostCuts = 2 * (limits.reportPeriodDays + 2);

function readUnits(bytes: Uint8Array): Units {
  const read = object(parseJson(bytes, largeBounds), root, {
    required: ['checkpoint', 'cuts', 'leaves', 'mediaType'],
  });
  text(read, 'mediaType', root, {
    pattern: /^application\/vnd\.gov\.units\.v1\+json$/,
    expected: unitsMediaType,
  });
  return {
    checkpoint: text(read, 'checkpoint', root),
    leaves: list(read, 'leaves', root, { max: 2 * mostCuts, read: readIncluded }),
    cuts: list(read, 'cuts', root, { max: mostCuts, read: readCut }),
  };
}

function readCut(value: Json, at: Location): UnitsCut {
  const cut = object(value, at, { required: ['at', 'index'] });
  const time = text(cut, 'at', at);
  const ms = parseTimestamp(time);
  if (ms === null || formatTimestamp(ms) !== time)
    return refuse({ up: at, name: 'at' }, 'a time such as 2026-01-31T00:00:00.000Z', time);
  return { ms, index: count(cut, 'index', at) };
}

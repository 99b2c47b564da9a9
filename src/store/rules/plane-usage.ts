/**
 * Computes the units that the planes of a service used, from their reports.
 * For each epoch of a plane and each month the store has the largest totals of the month's reports, type by
 * type. The units of a month are the amount by which its totals exceed all totals before it. The order and
 * repetition of reports therefore do not change them. Sums over planes are shown up to 2^53-1, the largest
 * exact count in JSON. They are stored as 64 bits and refuse no report.
 * Proven by `test/store/suite/tenancy/plane-usage.ts`.
 */
import { meteredTypes, type MeteredType } from '../../contract/operation.ts';
import { zeroTotals } from '../../core/planes/metering.ts';
import type { MeteredCounts } from '../port/planes.ts';

/** The largest reported totals of a month in an epoch. */
export interface MonthTotals {
  /** `2026-11`, UTC. */
  readonly month: string;
  readonly totals: MeteredCounts;
}

export const eachType = (count: (type: MeteredType) => number): MeteredCounts =>
  Object.fromEntries(meteredTypes.map((type) => [type, count(type)])) as MeteredCounts;

export const isZero = (counts: MeteredCounts): boolean => meteredTypes.every((type) => counts[type] === 0);
const largest = (one: MeteredCounts, other: MeteredCounts): MeteredCounts =>
  eachType((type) => Math.max(one[type], other[type]));

/** Adds a report's totals to the months of an epoch. Cost: its months. */
export function withReported(months: readonly MonthTotals[], { month, totals }: MonthTotals): MonthTotals[] {
  const before = months.find((each) => each.month === month);
  const raised = { month, totals: before === undefined ? totals : largest(before.totals, totals) };
  return [...months.filter((each) => each !== before), raised];
}

/** Units of each month of an epoch, by month. `reached`: the largest totals before all of them. */
export function unitsOf(
  months: readonly MonthTotals[],
  reached: MeteredCounts = zeroTotals,
): Map<string, MeteredCounts> {
  const units = new Map<string, MeteredCounts>();
  for (const { month, totals } of months.toSorted(byMonth)) {
    const raised = largest(reached, totals);
    const before = reached;
    units.set(
      month,
      eachType((type) => raised[type] - before[type]),
    );
    reached = raised;
  }
  return units;
}

/** Units of one month of an epoch. Cost: its months. */
export function unitsAt(months: readonly MonthTotals[], month: string): MeteredCounts {
  const upTo = (isOf: (each: MonthTotals) => boolean): MeteredCounts =>
    months.reduce((most, each) => (isOf(each) ? largest(most, each.totals) : most), zeroTotals);
  const before = upTo((each) => each.month < month);
  const reached = upTo((each) => each.month <= month);
  return eachType((type) => reached[type] - before[type]);
}

const byMonth = (one: MonthTotals, other: MonthTotals): number => (one.month < other.month ? -1 : 1);

/**
 * The change of each month's units. A late report moves units from a later month to its own. Cost: the months
 * from the first changed one on, and one comparison for each earlier month. Reports in order change only the
 * last month.
 */
export function unitChanges(
  before: readonly MonthTotals[],
  after: readonly MonthTotals[],
): [string, MeteredCounts][] {
  const same = new Set(before);
  const changed = after.filter((each) => !same.has(each)).toSorted(byMonth);
  const first = changed[0]?.month ?? '';
  const earlier = before.filter(({ month }) => month < first);
  const reached = eachType((type) => earlier.reduce((most, { totals }) => Math.max(most, totals[type]), 0));
  const since = (months: readonly MonthTotals[]): Map<string, MeteredCounts> =>
    unitsOf(
      months.filter(({ month }) => month >= first),
      reached,
    );
  const known = since(before);
  return [...since(after)].flatMap(([month, units]): [string, MeteredCounts][] => {
    const had = known.get(month) ?? zeroTotals;
    const change = eachType((type) => units[type] - had[type]);
    return isZero(change) ? [] : [[month, change]];
  });
}

/**
 * What planes of a service used, by what they reported: for each epoch of a plane and each month the largest totals,
 * type by type, of the reports of that month. A month has used what its largest totals are above all before it, so
 * neither the order nor the repetition of reports changes it. Sums over planes are told up to 2^53-1, the largest count that
 * is exact in JSON; they are kept as 64 bits, and refuse no report. Proven by `test/store/suite/tenancy/plane-usage.ts`.
 */
import { meteredTypes, type MeteredType } from '../../contract/operation.ts';
import { zeroTotals } from '../../core/plane/metering.ts';
import type { Counts } from '../port/planes.ts';

/** The largest totals that were reported in a month of an epoch. */
export interface MonthTotals {
  /** `2026-11`, UTC. */
  readonly month: string;
  readonly totals: Counts;
}

export const eachType = (count: (type: MeteredType) => number): Counts =>
  Object.fromEntries(meteredTypes.map((type) => [type, count(type)])) as Counts;

export const isZero = (counts: Counts): boolean => meteredTypes.every((type) => counts[type] === 0);
const largest = (one: Counts, other: Counts): Counts => eachType((type) => Math.max(one[type], other[type]));

/** The months of an epoch with a report's totals among them. Cost: its months. */
export function withReported(months: readonly MonthTotals[], { month, totals }: MonthTotals): MonthTotals[] {
  const before = months.find((each) => each.month === month);
  const raised = { month, totals: before === undefined ? totals : largest(before.totals, totals) };
  return [...months.filter((each) => each !== before), raised];
}

/** Units of each month of an epoch, by month; `reached`: the largest totals before all of them. */
export function unitsOf(months: readonly MonthTotals[], reached: Counts = zeroTotals): Map<string, Counts> {
  const units = new Map<string, Counts>();
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
export function unitsAt(months: readonly MonthTotals[], month: string): Counts {
  const upTo = (isOf: (each: MonthTotals) => boolean): Counts =>
    months.reduce((most, each) => (isOf(each) ? largest(most, each.totals) : most), zeroTotals);
  const before = upTo((each) => each.month < month);
  const reached = upTo((each) => each.month <= month);
  return eachType((type) => reached[type] - before[type]);
}

const byMonth = (one: MonthTotals, other: MonthTotals): number => (one.month < other.month ? -1 : 1);

/**
 * By how much the units of months change: a late report takes from a later month what it gives to its own. Cost: the
 * months from the changed one on, which is the last one where reports come in order; of those before a look at each.
 */
export function unitChanges(
  before: readonly MonthTotals[],
  after: readonly MonthTotals[],
): [string, Counts][] {
  const same = new Set(before);
  const changed = after.filter((each) => !same.has(each)).toSorted(byMonth);
  const first = changed[0]?.month ?? '';
  const earlier = before.filter(({ month }) => month < first);
  const reached = eachType((type) => earlier.reduce((most, { totals }) => Math.max(most, totals[type]), 0));
  const since = (months: readonly MonthTotals[]): Map<string, Counts> =>
    unitsOf(
      months.filter(({ month }) => month >= first),
      reached,
    );
  const known = since(before);
  return [...since(after)].flatMap(([month, units]): [string, Counts][] => {
    const had = known.get(month) ?? zeroTotals;
    const change = eachType((type) => units[type] - had[type]);
    return isZero(change) ? [] : [[month, change]];
  });
}

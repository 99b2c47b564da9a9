/**
 * What planes of a service used, by what they reported: for each epoch of a plane and each month the largest totals,
 * type by type, of the reports of that month. A month has used what its largest totals are above all before it, so
 * neither the order nor the repetition of reports changes it. Proven by `test/store/suite/planeusage.ts`.
 */
import { meteredTypes, type MeteredType } from '../contract/operation.ts';
import { zeroTotals } from '../core/metering.ts';
import type { Counts } from './telemetry.ts';

/** The largest totals that were reported in a month of an epoch. */
export interface MonthTotals {
  /** `2026-11`, UTC. */
  readonly month: string;
  readonly totals: Counts;
}

export const eachType = (count: (type: MeteredType) => number): Counts =>
  Object.fromEntries(meteredTypes.map((type) => [type, count(type)])) as Counts;

export const isZero = (counts: Counts): boolean => meteredTypes.every((type) => counts[type] === 0);
export const largest = (one: Counts, other: Counts): Counts =>
  eachType((type) => Math.max(one[type], other[type]));
export const sumOf = (one: Counts, other: Counts): Counts => eachType((type) => one[type] + other[type]);

/** The months of an epoch with a report's totals among them. Cost: its months. */
export function withReported(months: readonly MonthTotals[], { month, totals }: MonthTotals): MonthTotals[] {
  const before = months.find((each) => each.month === month);
  const raised = { month, totals: before === undefined ? totals : largest(before.totals, totals) };
  return [...months.filter((each) => each !== before), raised];
}

/** Units of each month of an epoch, by month. */
export function unitsOf(months: readonly MonthTotals[]): Map<string, Counts> {
  let reached: Counts = zeroTotals;
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

const byMonth = (one: MonthTotals, other: MonthTotals): number => (one.month < other.month ? -1 : 1);

/** By how much the units of months change: a late report takes from a later month what it gives to its own. */
export function unitChanges(
  before: readonly MonthTotals[],
  after: readonly MonthTotals[],
): [string, Counts][] {
  const known = unitsOf(before);
  return [...unitsOf(after)].flatMap(([month, units]): [string, Counts][] => {
    const had = known.get(month) ?? zeroTotals;
    const change = eachType((type) => units[type] - had[type]);
    return isZero(change) ? [] : [[month, change]];
  });
}

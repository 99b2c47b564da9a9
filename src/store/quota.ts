/**
 * How much of a metered kind a project used in a month (UTC, of server time). The running totals of the metering log
 * are the only counter: the first metered append of a month notes the totals before it, and what was used since is the
 * difference. Server time never runs backwards, so a month that has begun is never left for an earlier one.
 * Proven by `test/store/suite/quota.ts`.
 */
import type { MeteredType } from '../contract/operation.ts';
import { zeroTotals, type MeterOp, type Totals } from '../core/metering.ts';
import { serverTime } from '../core/record.ts';

/** A month in which something was metered, `2026-11`, and the totals before it. */
export interface Period {
  readonly month: string;
  readonly base: Totals;
}

export type Used = Readonly<Record<MeteredType, number>>;

/** The period that an append at `serverMs` falls into: the newest one, or one that begins with `totals`. */
export function periodAt(newest: Period | null, serverMs: number, totals: Totals): Period {
  const month = serverTime(serverMs).slice(0, 7);
  return newest !== null && month <= newest.month ? newest : { month, base: totals };
}

export const usedOf = (op: MeterOp, { base }: Period, totals: Totals): number =>
  op === 'none' ? 0 : totals[op] - base[op];

/** Units between the totals at the beginning of a month and those at its end. */
export function usedBetween(base: Totals, end: Totals): Used {
  const types = Object.keys(zeroTotals) as MeteredType[];
  return Object.fromEntries(types.map((type) => [type, end[type] - base[type]])) as Used;
}

/** The totals before a month as its row holds them. */
export const baseText = ({ base }: Period): string => JSON.stringify(base);
export const baseOf = (text: string): Totals => JSON.parse(text) as Totals;

/**
 * The month of a quota, and the totals at its start.
 * Proven by `test/store/suite/tenancy/quota.ts`.
 */
import type { Totals } from '../../core/planes/metering.ts';
import { serverTime } from '../../core/events/record.ts';

/** A month with metered operations, such as `2026-11`, and the totals before it. */
export interface Period {
  readonly month: string;
  readonly base: Totals;
}

/** The period of an append at `serverMs`: the newest one, or a new one that starts with `totals`. */
export function periodAt(newest: Period | null, serverMs: number, totals: Totals): Period {
  const month = serverTime(serverMs).slice(0, 7);
  return newest !== null && month <= newest.month ? newest : { month, base: totals };
}

/** The totals before a month, in the form of its row. */
export const baseText = ({ base }: Period): string => JSON.stringify(base);

export const baseOf = (text: string): Totals => JSON.parse(text) as Totals;

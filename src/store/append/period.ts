/** The month that a quota is counted in, and the totals it began with. */
import type { Totals } from '../../core/plane/metering.ts';
import { serverTime } from '../../core/event/record.ts';

/** A month in which something was metered, `2026-11`, and the totals before it. */
export interface Period {
  readonly month: string;
  readonly base: Totals;
}

/** The period that an append at `serverMs` falls into: the newest one, or one that begins with `totals`. */
export function periodAt(newest: Period | null, serverMs: number, totals: Totals): Period {
  const month = serverTime(serverMs).slice(0, 7);
  return newest !== null && month <= newest.month ? newest : { month, base: totals };
}

/** The totals before a month as its row holds them. */
export const baseText = ({ base }: Period): string => JSON.stringify(base);

export const baseOf = (text: string): Totals => JSON.parse(text) as Totals;

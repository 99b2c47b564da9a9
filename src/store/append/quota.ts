/**
 * How much of a metered kind a project used in a month (UTC, of server time). The running totals of the metering log
 * are the only counter: the first metered append of a month notes the totals before it, and what was used since is the
 * difference. Server time never runs backwards, so a month that has begun is never left for an earlier one.
 * Proven by `test/store/suite/tenancy/quota.ts`.
 */
import type { MeteredType } from '../../contract/operation.ts';
import { zeroTotals, type MeterOp, type Totals } from '../../core/plane/metering.ts';
import { serverTime, type LeafDraft } from '../../core/event/record.ts';
import type { ClientEvents } from './repeats.ts';
import type { Pending } from './pending.ts';
import type { AppendOutcome, AppendRequest } from '../port/store.ts';

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

type OverQuota = Extract<AppendOutcome, { outcome: 'over_quota' }>;

/** Null where a request fits. Decided by look-ups alone, since nothing of what is refused may have been written. */
export function overQuota(
  { ledger, totals }: Pending,
  { meter, leaves }: AppendRequest,
  { period, clients }: { readonly period: Period; readonly clients: Pick<ClientEvents, 'has'> },
): OverQuota | null {
  const { op, limit = null } = meter;
  if (op === 'none' || limit === null) return null;
  const used = usedOf(op, period, totals);
  const most = meter.units === 'accepted' ? leaves.length : meter.units;
  if (used + most <= limit) return null;
  const isKnown = (id: string): boolean => clients.has(ledger.no, id);
  const units = meter.units === 'accepted' ? countFresh(leaves, isKnown) : meter.units;
  return units === 0 || used + units <= limit ? null : { outcome: 'over_quota', used, units };
}

/** Leaves that would be appended: not those whose client id is known, or comes a second time. */
function countFresh(leaves: readonly LeafDraft[], isKnown: (clientEventId: string) => boolean): number {
  const seen = new Set<string>();
  let fresh = 0;
  for (const draft of leaves) {
    const id = draft.kind === 'event' ? draft.clientEventId : null;
    if (id !== null && (seen.has(id) || isKnown(id))) continue;
    if (id !== null) seen.add(id);
    fresh += 1;
  }
  return fresh;
}

/** Units between the totals at the beginning of a month and those at its end. */
export function usedBetween(base: Totals, end: Totals): Used {
  const types = Object.keys(zeroTotals) as MeteredType[];
  return Object.fromEntries(types.map((type) => [type, end[type] - base[type]])) as Used;
}

/** The totals before a month as its row holds them. */
export const baseText = ({ base }: Period): string => JSON.stringify(base);
export const baseOf = (text: string): Totals => JSON.parse(text) as Totals;

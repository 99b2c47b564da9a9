/**
 * Counts how much of a metered kind a project used in a month (UTC, of server time).
 * The running totals of the metering log are the only counter. The first metered append of a month stores the
 * totals before it. The difference to the present totals is the use. Server time never runs backwards, so no
 * append returns to an earlier month.
 * Proven by `test/store/suite/tenancy/quota.ts`.
 */
import type { MeteredType } from '../../contract/operation.ts';
import { zeroTotals, type MeterOp, type Totals } from '../../core/planes/metering.ts';
import { type LeafDraft } from '../../core/events/record.ts';
import type { ClientEvents } from './repeats.ts';
import type { PendingCommit } from './pending.ts';
import type { AppendOutcome, AppendRequest } from '../port/store.ts';
import type { Period } from './period.ts';

export type UsedUnits = Readonly<Record<MeteredType, number>>;

export const usedOf = (op: MeterOp, { base }: Period, totals: Totals): number =>
  op === 'none' ? 0 : totals[op] - base[op];

type OverQuota = Extract<AppendOutcome, { outcome: 'over_quota' }>;

/**
 * Returns null if the request fits the quota. It only looks rows up, because a refused request may have
 * written nothing.
 */
export function overQuota(
  { ledger, totals }: PendingCommit,
  { meter, leaves }: AppendRequest,
  { period, clients }: { readonly period: Period; readonly clients: Pick<ClientEvents, 'has'> },
): OverQuota | null {
  const { op = 'none', limit = null } = meter ?? {};
  if (meter === undefined || op === 'none' || limit === null) return null;
  const used = usedOf(op, period, totals);
  const most = meter.units === 'accepted' ? leaves.length : meter.units;
  if (used + most <= limit) return null;
  const isKnown = (id: string): boolean => clients.has(ledger.no, id);
  const units = meter.units === 'accepted' ? countFresh(leaves, isKnown) : meter.units;
  return units === 0 || used + units <= limit ? null : { outcome: 'over_quota', used, units };
}

/**
 * Counts the leaves to append. An event whose client id is known, or repeats in the request, does not count.
 */
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

/** Units between the totals at the start of a month and those at its end. */
export function usedBetween(base: Totals, end: Totals): UsedUnits {
  const types = Object.keys(zeroTotals) as MeteredType[];
  return Object.fromEntries(types.map((type) => [type, end[type] - base[type]])) as UsedUnits;
}

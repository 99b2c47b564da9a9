/**
 * The balance of a source of telemetry for a day of UTC: how many records came, and what became of each. For each day
 *
 *     spans + logs + metrics = recorded + observed + inherited + bookkeeping + rejected
 *
 * It is the word of the receiver, as a balance of a recording is that of its importer (contract O18).
 * Tested by `test/core/intake/otlp/day-balance.test.ts` and `test/http/otlp/day-balance.test.ts`.
 */
import { formatTimestamp } from '../../time.ts';
import type { SourceActivity, SourceName } from './sources.ts';

export interface DayBalance extends SourceName {
  /** `2026-11-29` */
  readonly day: string;
  readonly spans: number;
  readonly logs: number;
  readonly metrics: number;
  /** Records with an event of their own. */
  readonly recorded: number;
  /** Records of what others had recorded: an observation says so. */
  readonly observed: number;
  /** Records that were sent again, and messages that a client sends with each request. */
  readonly inherited: number;
  /** Records without anything about an agent, and metrics. */
  readonly bookkeeping: number;
  readonly rejected: number;
  /** The first record that was rejected. */
  readonly remainder: { readonly where: string; readonly why: string } | null;
}

export const dayOf = (atMs: number): string => formatTimestamp(atMs).slice(0, 10);

/** Returns the balance after a request. */
export function extendDay(before: DayBalance | null, added: SourceActivity, atMs: number): DayBalance {
  const { service, instance, spans, logs, metrics, observed, rejected, rejectedWhy: why } = added;
  const remainder = why === null ? null : { where: `request at ${formatTimestamp(atMs)}`, why };
  return {
    service,
    instance,
    day: dayOf(atMs),
    spans: (before?.spans ?? 0) + spans,
    logs: (before?.logs ?? 0) + logs,
    metrics: (before?.metrics ?? 0) + metrics,
    recorded: (before?.recorded ?? 0) + added.kept - observed,
    observed: (before?.observed ?? 0) + observed,
    inherited: (before?.inherited ?? 0) + added.repeated,
    bookkeeping: (before?.bookkeeping ?? 0) + added.filtered + metrics,
    rejected: (before?.rejected ?? 0) + rejected,
    remainder: before?.remainder ?? remainder,
  };
}

/** Moves records that the log had already. */
export const inheritMore = (
  before: DayBalance,
  { recorded, observed }: { readonly recorded: number; readonly observed: number },
): DayBalance => ({
  ...before,
  recorded: before.recorded - recorded,
  observed: before.observed - observed,
  inherited: before.inherited + recorded + observed,
});

/** Whether each record that came is accounted for. */
export function isBalanced(balance: DayBalance): boolean {
  const { spans, logs, metrics, recorded, observed, inherited, bookkeeping, rejected } = balance;
  return spans + logs + metrics === recorded + observed + inherited + bookkeeping + rejected;
}

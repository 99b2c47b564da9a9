/**
 * Makes the reports of due schedules. Several processes may do so at once: a claim belongs to one of them, and a
 * schedule and its due time make at most one report, also where a process ends between the report and the schedule.
 * Proven by `test/service/reports/schedules/due.long.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { readCron, type CronTimes } from '../../../core/schedules/cron.ts';
import { formatTimestamp } from '../../../core/time.ts';
import type { StoredDocument } from '../../../store/port/store.ts';
import type { Services } from '../../port/services.ts';
import { queueReport } from '../queue.ts';
import { dataOf } from '../stored.ts';
import type { Bounds, Counts } from '../bounds.ts';
import { inputOf } from './input.ts';
import { scheduleKind, type StoredSchedule } from './stored.ts';

const leaseMs = 60_000;
/** After a refusal that passes: too many open reports, a full disk. */
const pauseMs = 60_000;
/** Schedules in work at once. Their appends share commits. */
const atOnce = 8;
/** Due times that one claim makes up for, so that its lease lasts. */
const madeUpAtOnce = 20;

/** Makes reports until no schedule is due, or the bounds end it. Adds to `counts`. */
export async function processSchedules(services: Services, counts: Counts, bounds: Bounds): Promise<void> {
  const work = async (): Promise<void> => {
    while (!bounds.isOver()) {
      const nowMs = services.now();
      const claimed = await services.store.claimDocument({
        kind: scheduleKind,
        statuses: ['enabled'],
        nowMs,
        leaseMs,
      });
      if (claimed === null) return;
      await makeReports(services, claimed, counts);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

async function makeReports(services: Services, claimed: StoredDocument, counts: Counts): Promise<void> {
  const nowMs = services.now();
  const before = dataOf<StoredSchedule>(claimed);
  const times = readCron(before.cron, before.timezone, nowMs);
  if (typeof times === 'string') {
    // it was accepted once; the rules of its time zone may have changed
    await save(
      services,
      claimed,
      { ...before, nextRunMs: null, errorSummary: times },
      { status: 'disabled', dueMs: null },
    );
    counts.processed += 1;
    counts.failed += 1;
    return;
  }
  let stored = before;
  let resumeMs: number | null = null;
  for (const dueMs of dueTimes(before, times, nowMs)) {
    counts.processed += 1;
    const made = await makeReport(services, { claimed, stored, dueMs });
    counts[made.outcome] += 1;
    if (made.isNew) counts.createdIds.push(made.stored.lastExecutionId ?? '');
    stored = made.stored;
    if (made.outcome === 'skipped' && !made.isKnown) {
      resumeMs = nowMs + pauseMs;
      break;
    }
  }
  const dueMs = resumeMs ?? stored.nextRunMs;
  await save(services, claimed, stored, { status: 'enabled', dueMs });
}

/** The due times of a claim, at least one: with `backfill` each that was missed, else the newest. */
function dueTimes({ nextRunMs, backfill }: StoredSchedule, times: CronTimes, nowMs: number): number[] {
  const newest = Math.max(nextRunMs ?? nowMs, times.last(nowMs) ?? 0);
  if (!backfill) return [newest];
  const oldest = nowMs - limits.scheduleBackfillDays * 86_400_000;
  const found: number[] = [];
  let at = nextRunMs ?? newest;
  if (at < oldest) at = times.next(oldest - 1) ?? newest;
  while (at <= newest && found.length < madeUpAtOnce) {
    found.push(at);
    at = times.next(at) ?? Infinity;
  }
  return found.length === 0 ? [newest] : found;
}

interface ScheduledReport {
  readonly stored: StoredSchedule;
  readonly outcome: 'succeeded' | 'failed' | 'skipped';
  readonly isNew: boolean;
  /** Whether another process made this report. */
  readonly isKnown: boolean;
}

async function makeReport(
  services: Services,
  { claimed, stored, dueMs }: { claimed: StoredDocument; stored: StoredSchedule; dueMs: number },
): Promise<ScheduledReport> {
  const { projectId, documentId: scheduleId } = claimed;
  const times = readCron(stored.cron, stored.timezone, services.now());
  const nextRunMs = typeof times === 'string' ? null : times.next(stored.backfill ? dueMs : services.now());
  try {
    const dueAt = formatTimestamp(dueMs);
    const by = { id: scheduleId, type: 'schedule' };
    const { executionId, isNew } = await queueReport(
      services,
      projectId,
      inputOf(stored, dueMs, services.seal),
      { by, scheduleId, dueAt },
    );
    const next = { ...stored, nextRunMs, lastRunMs: dueMs, lastExecutionId: executionId, errorSummary: null };
    return { stored: next, outcome: isNew ? 'succeeded' : 'skipped', isNew, isKnown: !isNew };
  } catch (error) {
    const known =
      error instanceof GovError ? error : new GovError('INTERNAL', 'Internal error', { cause: error });
    const passes = known.status === 429 || known.status >= 500;
    if (known.status >= 500)
      services.log.error({ err: error, scheduleId }, 'a schedule could not make its report yet');
    const errorSummary = `${known.code}: ${known.code === 'INTERNAL' ? 'Internal error' : known.message}`;
    const next = { ...stored, errorSummary: errorSummary.slice(0, limits.reportErrorChars) };
    // a refusal of the request would recur at once: its next due time may find another template, plan or channel
    if (!passes)
      return {
        stored: { ...next, nextRunMs, lastRunMs: dueMs },
        outcome: 'failed',
        isNew: false,
        isKnown: false,
      };
    return { stored: { ...next, nextRunMs: dueMs }, outcome: 'skipped', isNew: false, isKnown: false };
  }
}

/** Where somebody changed or deleted the schedule meanwhile, that change counts. */
async function save(
  { store }: Services,
  { projectId, ...document }: StoredDocument,
  stored: StoredSchedule,
  change: { readonly status: string; readonly dueMs: number | null },
): Promise<void> {
  await store.saveDocuments(projectId, [{ save: { ...document, ...change, data: JSON.stringify(stored) } }]);
}

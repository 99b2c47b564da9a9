/**
 * Schedules of reports as documents. The status is `enabled` or `disabled`; an enabled one is due when its next report
 * is. Proven by `test/service/reports/schedules/handlers.test.ts`.
 */
import type { ReportFormat } from '../../../contract/report-parts.ts';
import type { ReportSchedule } from '../../../contract/report-schedules.ts';
import type { ReportWindow } from '../../../core/schedules/window.ts';
import { formatTimestamp } from '../../../core/time.ts';
import type { StoredDocument } from '../../../store/port/store.ts';
import type { KeptInput } from '../deliveries/document.ts';
import { maskedTarget } from '../../outbox/masked.ts';
import { dataOf } from '../stored.ts';

export const scheduleKind = 'report_schedule';

export interface StoredSchedule {
  readonly name: string;
  readonly reportTemplateId: string;
  readonly window: ReportWindow;
  readonly cron: string;
  readonly timezone: string;
  readonly formats: readonly ReportFormat[];
  readonly title: string | null;
  readonly locale: string;
  readonly runId: string | null;
  readonly deliveries: readonly ScheduledDelivery[];
  readonly backfill: boolean;
  /**
   * When it is due, in words of its cron expression; null while it is disabled. The due time of the document may be
   * later: the end of a lease, or of a pause after a refusal.
   */
  readonly nextRunMs: number | null;
  readonly lastRunMs: number | null;
  readonly lastExecutionId: string | null;
  readonly errorSummary: string | null;
  readonly updatedMs: number;
}

interface ScheduledDelivery extends KeptInput {
  readonly disabledMs: number | null;
}

const time = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));

/** A schedule as the interface shows it: targets are masked, and secrets left out. */
export function scheduleBody(document: StoredDocument): ReportSchedule {
  const { deliveries, nextRunMs, lastRunMs, updatedMs, formats, ...same } = dataOf<StoredSchedule>(document);
  return {
    scheduleId: document.documentId,
    ...same,
    formats: [...formats],
    deliveries: deliveries.map(({ channel, target, format, disabledMs }) => ({
      channel,
      target: maskedTarget(channel, target),
      format,
      disabledAt: time(disabledMs),
    })),
    enabled: document.status === 'enabled',
    nextRunAt: time(nextRunMs),
    lastRunAt: time(lastRunMs),
    createdAt: formatTimestamp(document.createdMs),
    updatedAt: formatTimestamp(updatedMs),
  };
}

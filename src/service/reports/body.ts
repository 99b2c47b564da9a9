/**
 * A report as the interface shows it (contract L5). A report whose artifacts have expired is shown as expired, even
 * before they are removed. Proven by `test/service/reports/handlers.test.ts`.
 */
import type { Delivery, ReportArtifact, ReportExecution, ReportStatus } from '../../contract/report-parts.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { StoredDocument } from '../../store/port/store.ts';
import { dataOf, type StoredReport } from './stored.ts';

const time = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));

export function statusOf(
  document: Pick<StoredDocument, 'status'>,
  { expiresMs }: StoredReport,
  nowMs: number,
): ReportStatus {
  const status = document.status as ReportStatus; // this service wrote it
  return status === 'completed' && expiresMs !== null && nowMs >= expiresMs ? 'expired' : status;
}

export function executionBody(
  document: StoredDocument,
  { deliveries, nowMs }: { readonly deliveries: readonly Delivery[]; readonly nowMs: number },
): ReportExecution {
  const stored = dataOf<StoredReport>(document);
  const { reportTemplateId, title, parameters, formats, timezone, locale, scheduleId, summary } = stored;
  const status = statusOf(document, stored, nowMs);
  const isEnded = status !== 'queued' && status !== 'processing';
  return {
    executionId: document.documentId,
    reportTemplateId,
    title,
    status,
    parameters,
    formats: [...formats],
    timezone,
    locale,
    createdAt: formatTimestamp(document.createdMs),
    startedAt: time(stored.startedMs),
    completedAt: time(stored.completedMs),
    expiresAt: time(stored.expiresMs),
    // of a report that is tried again, it says why the last attempt failed
    errorSummary: status === 'failed' || !isEnded ? stored.errorSummary : null,
    scheduleId,
    summary,
    artifacts: artifactsOf(stored, status),
    deliveries: [...deliveries],
  };
}

const artifactStatus = { queued: 'pending', processing: 'processing' } as const;

function artifactsOf(stored: StoredReport, status: ReportStatus): ReportArtifact[] {
  const { completedMs, expiresMs, errorSummary } = stored;
  return stored.artifacts.map(({ artifactId, format, made }) => ({
    artifactId,
    format,
    status: status === 'queued' || status === 'processing' ? artifactStatus[status] : status,
    sizeBytes: made?.sizeBytes ?? null,
    sha256: made === null ? null : `sha256:${made.sha256}`,
    createdAt: made === null ? null : time(completedMs),
    expiresAt: made === null ? null : time(expiresMs),
    errorSummary: status === 'failed' ? errorSummary : null,
  }));
}

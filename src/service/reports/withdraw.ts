/**
 * Reports that may show values which an erasure removes. A completed one expires with the erasure, and its artifacts are
 * removed; one that is being built starts again. A report that waits reads the log later. Other reports stay.
 * Proven by `test/service/erasure/reports.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { ReportTemplateId } from '../../contract/report-words.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { ByAge, DocumentChange, StoredDocument } from '../../store/port/store.ts';
import type { Services } from '../port/services.ts';
import { noReportStarted } from './start.ts';
import { dataOf, reportKind, type StoredReport } from './stored.ts';

/** A leaf that loses values. */
export interface LosingLeaf {
  readonly runId: string | null;
  /** When the log recorded it, Unix milliseconds; null: its record does not say. */
  readonly atMs: number | null;
  /** When the log recorded the newest event of its run. */
  readonly lastMs: number | null;
}

/** In the order of a report's life, so that one which is completed meanwhile is seen at least once. */
const statuses = ['processing', 'completed'] as const;
const pageSize = 500;
/** A report shows approvals that were requested before its period, as long as they could be decided in it. */
const beforeMs = limits.approvalHours * 3_600_000;

/** The changes to save with the erasure. Cost: a read of the project's reports that are not expired. */
export async function withdrawnReports(
  services: Services,
  projectId: string,
  leaves: readonly LosingLeaf[],
): Promise<DocumentChange[]> {
  const nowMs = services.now();
  // before the reports: one that starts from now on refuses the erasure, which then looks again
  const changes = [await noReportStarted(services.store, projectId)];
  for await (const document of reportsOf(services, projectId)) {
    const stored = dataOf<StoredReport>(document);
    if (!leaves.some((leaf) => mayShow(stored, leaf))) continue;
    const { projectId: _own, ...save } = document;
    if (document.status !== 'completed') changes.push({ save: { ...save, status: 'queued', dueMs: nowMs } });
    else if (stored.expiresMs === null || stored.expiresMs > nowMs)
      changes.push({
        save: { ...save, dueMs: nowMs, data: JSON.stringify({ ...stored, expiresMs: nowMs }) },
      });
  }
  return changes;
}

async function* reportsOf({ store }: Services, projectId: string): AsyncGenerator<StoredDocument, void> {
  for (const status of statuses) {
    let after: ByAge | undefined;
    do {
      const page = { limit: pageSize, ...(after === undefined ? {} : { after }) };
      const found = await store.documents(projectId, { kind: reportKind, status }, page);
      yield* found;
      const last = found.length < pageSize ? undefined : found.at(-1);
      after = last === undefined ? undefined : { ms: last.createdMs, id: last.documentId };
    } while (after !== undefined);
  }
}

function mayShow(stored: StoredReport, { runId, atMs, lastMs }: LosingLeaf): boolean {
  const { parameters } = stored;
  const startMs = (parseTimestamp(parameters.startTime) ?? 0) - beforeMs;
  const endMs = parseTimestamp(parameters.endTime) ?? Infinity;
  const isEarly = atMs === null || atMs <= endMs;
  // a replay of the period repeats what was recorded at any time before it, also in a run that it was compared with
  if (shows(stored, 'replay-drift')) return isEarly;
  if (parameters.runId !== undefined) return parameters.runId === runId;
  // it judges all tool calls of a run that has events in the period
  const untilMs = shows(stored, 'integrity-completeness') ? lastMs : atMs;
  return isEarly && (untilMs === null || untilMs >= startMs);
}

const shows = ({ reportTemplateId, template }: StoredReport, id: ReportTemplateId): boolean =>
  reportTemplateId === id || template?.sections.some((section) => section.startsWith(`${id}/`)) === true;

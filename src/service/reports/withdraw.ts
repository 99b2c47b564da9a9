/**
 * Reports that may show values which an erasure removes. A completed one expires with the erasure, and its artifacts are
 * removed; one that waits or is being built starts again. Reports of other periods and other runs stay.
 * Tested by `test/service/erasure/copies.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { ByAge, DocumentChange, StoredDocument } from '../../store/port/store.ts';
import type { Services } from '../dependencies.ts';
import { dataOf, reportKind, type StoredReport } from './stored.ts';

/** A leaf that loses values. */
export interface LosingLeaf {
  readonly runId: string | null;
  /** When the log recorded it, Unix milliseconds; null: its record does not say. */
  readonly atMs: number | null;
}

const statuses = ['completed', 'processing', 'queued'] as const;
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
  const changes: DocumentChange[] = [];
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

function mayShow({ parameters }: StoredReport, { runId, atMs }: LosingLeaf): boolean {
  if (parameters.runId !== undefined) return parameters.runId === runId;
  const startMs = (parseTimestamp(parameters.startTime) ?? 0) - beforeMs;
  const endMs = parseTimestamp(parameters.endTime) ?? Infinity;
  return atMs === null || (atMs >= startMs && atMs <= endMs);
}

/**
 * Removes the artifacts of reports that have expired, and share links that ended long ago. A report stays listed as
 * `expired`. Several processes may do so at once, and a repeat does nothing: the artifacts are removed before the
 * document says so. Proven by `test/service/reports/removal.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { DocumentChange, StoredDocument } from '../../store/port/store.ts';
import type { Services } from '../port/services.ts';
import { removeArtifacts } from './files.ts';
import { dataOf, reportKind, shareKind, type StoredReport } from './stored.ts';
import type { ProcessedCounts } from './worker.ts';

/** Cleans up until nothing is due, `untilMs` has passed (Unix milliseconds), or `most` documents are done. */
export async function cleanupReports(
  services: Services,
  { untilMs, most }: { readonly untilMs: number; readonly most: number },
): Promise<ProcessedCounts> {
  const { store, now } = services;
  const counts = { processed: 0, succeeded: 0, failed: 0, skipped: 0 };
  const due = [
    { kind: reportKind, statuses: ['completed'], end: expire },
    { kind: shareKind, statuses: ['active', 'revoked'], end: forget },
  ] as const;
  for (const { kind, statuses, end } of due) {
    while (counts.processed < most && now() < untilMs) {
      const leaseMs = limits.jobLeaseSeconds * 1000;
      const claimed = await store.claimDocument({ kind, statuses, nowMs: now(), leaseMs });
      if (claimed === null) break;
      counts.processed += 1;
      const change = await end(services, claimed);
      const outcome = await store.saveDocuments(claimed.projectId, [change]);
      if (outcome === 'saved') counts.succeeded += 1;
      else counts.skipped += 1;
    }
  }
  return counts;
}

/** Removes the artifacts. A crash before the document is saved repeats it. */
async function expire(services: Services, claimed: StoredDocument): Promise<DocumentChange> {
  const { projectId, ...document } = claimed;
  await removeArtifacts(services, projectId, dataOf<StoredReport>(claimed));
  return { save: { ...document, status: 'expired', dueMs: null } };
}

function forget(_services: Services, { kind, documentId, version }: StoredDocument): Promise<DocumentChange> {
  return Promise.resolve({ remove: { kind, documentId, version } });
}

/**
 * One document of a project that each report saves before it reads the log. An erasure reads it before it looks for
 * reports that may show its values, and expects the same version in its transaction. So a report starts either before an
 * erasure looks, and the erasure finds it, or after the erasure, and then it reads no erased value.
 * Proven by `test/service/erasure/reports.test.ts`.
 */
import type { DocumentChange, DocumentReader, StoredDocument } from '../../store/port/store.ts';

const startKind = 'report_start';

/** The document to save with a report that starts. */
export async function reportStart(
  store: DocumentReader,
  projectId: string,
): Promise<Omit<StoredDocument, 'projectId'>> {
  const stored = await store.document(projectId, startKind, startKind);
  const first = { key: null, parentId: null, status: 'started', createdMs: 0, dueMs: null, data: '{}' };
  return { ...first, kind: startKind, documentId: startKind, version: stored?.version ?? 0 };
}

/** Refuses other changes where a report has started since. */
export async function noReportStarted(store: DocumentReader, projectId: string): Promise<DocumentChange> {
  const { kind, documentId, version } = await reportStart(store, projectId);
  return { expect: { kind, documentId, version } };
}

/**
 * The columns of documents.
 * Proven by `test/store/suite/documents.ts`.
 */
import type { StoredDocument } from '../port/documents.ts';
import { columnsOf } from './columns.ts';

/** A document as the project's own rows name it. */
export type NewDocument = Omit<StoredDocument, 'projectId'>;

export const documentColumns = columnsOf<NewDocument>('document', {
  kind: 'kind',
  documentId: 'document_id',
  key: 'key',
  parentId: 'parent_id',
  status: 'status',
  createdMs: 'created_ms',
  dueMs: 'due_ms',
  version: 'version',
  data: 'data',
});

/** Writes of documents. Proven by `test/store/suite/documents.ts`. */
import { documentColumns, type NewDocument } from '../rules/document-row.ts';
import { remove, upsert, type Writer } from './statement.ts';

/** The time of a document's creation stays. */
const save = upsert(documentColumns, {
  key: ['kind', 'documentId'],
  set: ['key', 'parentId', 'status', 'dueMs', 'version', 'data'],
  also: ['createdMs'],
});
const drop = remove(documentColumns, ['kind', 'documentId']);

export const documentWrites = <Done>(run: Writer<Done>) => ({
  saveDocument: (made: NewDocument) => run(save, made),
  removeDocument: (kind: string, documentId: string) => run(drop, { kind, documentId }),
});

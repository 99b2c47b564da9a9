/** Rows of documents, and their claims. Proven by `test/store/suite/documents.ts`. */
import type { DocumentRows } from '../../append/documents.ts';
import type { DocumentClaim, StoredDocument } from '../../port/documents.ts';
import type { Connection, Value } from '../../file/connection.ts';
import type { Prepare } from '../../file/statement.ts';
import { selected } from '../../rules/columns.ts';
import { documentColumns } from '../../rules/document-row.ts';
import { documentWrites } from '../../write/documents.ts';
import type { Writer } from '../../write/statement.ts';
import type { Current } from './current.ts';

export function documentRows(prepare: Prepare, current: Current, write: Writer<unknown>): DocumentRows {
  const version = prepare<{ version: number }>(
    'find document version',
    'SELECT version FROM document WHERE project = ? AND kind = ? AND document_id = ?',
  );
  const ofKey = prepare<{ project: number; document_id: string }>(
    'find document key',
    'SELECT d.project, d.document_id FROM document d WHERE d.kind = ? AND d.key = ?',
  );
  const count = prepare<{ n: number }>(
    'count documents',
    'SELECT count(*) AS n FROM document WHERE project = ? AND kind = ?',
  );
  return {
    ...documentWrites(write),
    documentVersion: (kind, documentId) => version.get(current.project, kind, documentId)?.version ?? null,
    documentOfKey: (kind, key) => {
      const owner = ofKey.get(kind, key);
      if (owner === undefined) return null;
      return owner.project === current.project ? owner.document_id : '';
    },
    countDocuments: (kind) => count.get(current.project, kind)?.n ?? 0,
  };
}

/**
 * SQL: the first project above a number with a due document, and its longest due document. Steps from project to
 * project by the index. Cost: the projects whose documents are not due yet.
 */
const dueAbove = (wanted: string): string =>
  `WITH RECURSIVE turn (project) AS (
     SELECT min(project) FROM document WHERE due_ms IS NOT NULL AND project > ?
     UNION ALL
     SELECT (SELECT min(project) FROM document WHERE due_ms IS NOT NULL AND project > turn.project)
       FROM turn WHERE turn.project IS NOT NULL)
   SELECT ${wanted} FROM turn CROSS JOIN document d ON d.rowid = (
       SELECT rowid FROM document WHERE kind = ? AND project = turn.project AND due_ms <= ?
         AND status IN (SELECT value FROM json_each(?))
         AND (? IS NULL OR (SELECT count(*) FROM document b
           WHERE b.kind = ? AND b.project = turn.project AND b.due_ms > ? AND b.status = ?) < ?)
       ORDER BY due_ms LIMIT 1)
     CROSS JOIN project ON project.project = d.project LIMIT 1`;

const asked = ({ kind, statuses, nowMs, becomes, most }: DocumentClaim, above: number): Value[] => {
  const due = [above, kind, nowMs, JSON.stringify(statuses)];
  return [...due, most ?? null, kind, nowMs, becomes ?? '', most ?? null];
};

/** Whether a document is due. Asked before a claim, so that waiting for work writes nothing. */
export function dueDocuments(db: Connection): (claim: DocumentClaim) => boolean {
  const due = db.prepare<Value[]>(dueAbove('1'));
  return (claim) => due.get(...asked(claim, 0)) !== undefined;
}

export interface DocumentTasks {
  claimDocument(claim: DocumentClaim): StoredDocument | null;
}

export function documentTasks(prepare: Prepare): DocumentTasks {
  const due = prepare<StoredDocument & { project: number }>(
    'find due document',
    dueAbove(`d.project, project_id AS "projectId", ${selected(documentColumns, { from: 'd' })}`),
  );
  const take = prepare(
    'claim document',
    `UPDATE document SET status = ?, due_ms = ?, version = version + 1
     WHERE project = ? AND kind = ? AND document_id = ?`,
  );
  /** The number of the project served last, by kind. */
  const served = new Map<string, number>();
  return {
    claimDocument: (claim) => {
      const { kind, nowMs, leaseMs, becomes } = claim;
      const row = due.get(...asked(claim, served.get(kind) ?? 0)) ?? due.get(...asked(claim, 0));
      if (row === undefined) return null;
      const { project, ...document } = row;
      served.set(kind, project);
      const status = becomes ?? document.status;
      const dueMs = nowMs + leaseMs;
      take.run(status, dueMs, project, kind, document.documentId);
      return { ...document, status, dueMs, version: document.version + 1 };
    },
  };
}

/** Reads of documents. Proven by `test/store/suite/documents.ts`. */
import { endOfTime } from '../port/bounds.ts';
import type { DocumentReader, StoredDocument } from '../port/documents.ts';
import { both, each, firstOf, rowsOf, step, type Queries } from './queries.ts';

export interface DocumentRow {
  readonly projectId: string;
  readonly kind: string;
  readonly document_id: string;
  readonly key: string | null;
  readonly parent_id: string | null;
  readonly status: string;
  readonly created_ms: number;
  readonly due_ms: number | null;
  readonly version: number;
  readonly data: string;
}

export const documentColumns =
  'd.kind, d.document_id, d.key, d.parent_id, d.status, d.created_ms, d.due_ms, d.version, d.data';
const columns = `p.project_id AS "projectId", ${documentColumns}`;
const from = 'FROM document d JOIN project p ON p.project = d.project';

export const documentOf = (row: DocumentRow): StoredDocument => ({
  projectId: row.projectId,
  kind: row.kind,
  documentId: row.document_id,
  key: row.key,
  parentId: row.parent_id,
  status: row.status,
  createdMs: row.created_ms,
  dueMs: row.due_ms,
  version: row.version,
  data: row.data,
});

const one = both<DocumentRow>(
  `SELECT ${columns} ${from} WHERE d.project = $1 AND d.kind = $2 AND d.document_id = $3`,
);
const ofKey = both<DocumentRow>(
  `SELECT '' AS "projectId", d.project, ${documentColumns} FROM document d WHERE d.kind = $1 AND d.key = $2`,
);
const projectOf = both<{ project_id: string }>('SELECT project_id FROM project WHERE project = $1');
const page = both<DocumentRow>(
  `SELECT ${columns} ${from}
   WHERE d.project = $1 AND d.kind = $2 AND (d.created_ms, d.document_id) < ($3, $4)
     AND ($5::text IS NULL OR d.parent_id = $5) AND ($6::text IS NULL OR d.status = $6)
   ORDER BY d.created_ms DESC, d.document_id DESC LIMIT $7`,
);
const all = both<DocumentRow>(
  `SELECT ${columns} FROM project p CROSS JOIN document d
   WHERE d.project = p.project AND d.kind = $1 AND (p.project_id, d.document_id) > ($2, $3)
   ORDER BY p.project_id, d.document_id LIMIT $4`,
);
/** The functions that turn a JSON list into rows differ. */
const next = each<{ due_ms: number | null }>({
  postgres: `SELECT min(due_ms) AS due_ms FROM document
   WHERE due_ms IS NOT NULL AND kind IN (SELECT jsonb_array_elements_text($1::jsonb))
     AND status IN (SELECT jsonb_array_elements_text($2::jsonb))`,
  sqlite: `SELECT min(due_ms) AS due_ms FROM document
   WHERE due_ms IS NOT NULL AND kind IN (SELECT value FROM json_each($1))
     AND status IN (SELECT value FROM json_each($2))`,
});

export const documentReads = (queries: Queries): DocumentReader => ({
  document: async (projectId, kind, documentId) =>
    firstOf(await rowsOf(queries, projectId, one, kind, documentId), documentOf),
  documentByKey: async (kind, key) => {
    const [found] = await queries.read({ lookup: key }, [step(ofKey, kind, key)]);
    const row = found.rows[0] as (DocumentRow & { project: number }) | undefined;
    if (row === undefined) return null;
    const [{ rows }] = await queries.read({ project: row.project }, [step(projectOf, row.project)]);
    return rows[0] === undefined ? null : documentOf({ ...row, projectId: rows[0].project_id });
  },
  documents: async (projectId, { kind, parentId = null, status = null }, { after, limit }) => {
    const start = [after?.ms ?? endOfTime, after?.id ?? ''];
    const rows = await rowsOf(queries, projectId, page, kind, ...start, parentId, status, limit);
    return rows.map(documentOf);
  },
  allDocuments: async (kind, { after, limit }) => {
    const start = [after?.projectId ?? '', after?.documentId ?? ''];
    const [{ rows }] = await queries.read({ duty: 'jobs' }, [step(all, kind, ...start, limit)]);
    return rows.map(documentOf);
  },
  nextDue: async (kinds, statuses) => {
    const asked = step(next, JSON.stringify(kinds), JSON.stringify(statuses));
    const [{ rows }] = await queries.read({ duty: 'jobs' }, [asked]);
    return rows[0]?.due_ms ?? null;
  },
});

/** Reads of documents. Proven by `test/store/suite/documents.ts`. */
import { endOfTime } from '../port/bounds.ts';
import type { DocumentReader, StoredDocument } from '../port/documents.ts';
import { selected } from '../rules/columns.ts';
import { documentColumns, type NewDocument } from '../rules/document-row.ts';
import { both, each, rowsOf, step, type Queries } from './queries.ts';

const columns = `p.project_id AS "projectId", ${selected(documentColumns, { from: 'd' })}`;
const from = 'FROM document d JOIN project p ON p.project = d.project';

const one = both<StoredDocument>(
  `SELECT ${columns} ${from} WHERE d.project = $1 AND d.kind = $2 AND d.document_id = $3`,
);
const ofKey = both<NewDocument & { project: number }>(
  `SELECT d.project, ${selected(documentColumns, { from: 'd' })} FROM document d WHERE d.kind = $1 AND d.key = $2`,
);
const projectOf = both<{ project_id: string }>('SELECT project_id FROM project WHERE project = $1');
const page = both<StoredDocument>(
  `SELECT ${columns} ${from}
   WHERE d.project = $1 AND d.kind = $2 AND (d.created_ms, d.document_id) < ($3, $4)
     AND ($5::text IS NULL OR d.parent_id = $5) AND ($6::text IS NULL OR d.status = $6)
   ORDER BY d.created_ms DESC, d.document_id DESC LIMIT $7`,
);
const all = both<StoredDocument>(
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
    (await rowsOf(queries, projectId, one, kind, documentId))[0] ?? null,
  documentByKey: async (kind, key) => {
    const [found] = await queries.read({ lookup: key }, [step(ofKey, kind, key)]);
    const [row] = found.rows;
    if (row === undefined) return null;
    const { project, ...document } = row;
    const [{ rows }] = await queries.read({ project }, [step(projectOf, project)]);
    return rows[0] === undefined ? null : { ...document, projectId: rows[0].project_id };
  },
  documents: async (projectId, { kind, parentId = null, status = null }, { after, limit }) => {
    const start = [after?.ms ?? endOfTime, after?.id ?? ''];
    return rowsOf(queries, projectId, page, kind, ...start, parentId, status, limit);
  },
  allDocuments: async (kind, { after, limit }) => {
    const start = [after?.projectId ?? '', after?.documentId ?? ''];
    const [{ rows }] = await queries.read({ duty: 'jobs' }, [step(all, kind, ...start, limit)]);
    return rows;
  },
  nextDue: async (kinds, statuses) => {
    const asked = step(next, JSON.stringify(kinds), JSON.stringify(statuses));
    const [{ rows }] = await queries.read({ duty: 'jobs' }, [asked]);
    return rows[0]?.due_ms ?? null;
  },
});

/**
 * Rows of documents, with the same rules as SQLite, and their claims. Several processes claim at a time: `FOR UPDATE
 * SKIP LOCKED` gives each document to one of them.
 * Source: PostgreSQL 18, SELECT (the locking clause).
 * Proven by `test/store/suite/documents.ts`.
 */
import type { DocumentRows } from '../../append/documents.ts';
import { versionOf, type DocumentStore, type StoredDocument } from '../../port/documents.ts';
import type { Effect } from '../../port/store.ts';
import { textArray } from '../connection/arrays.ts';
import type { Database } from '../connection/database.ts';
import { selected } from '../../rules/columns.ts';
import { documentColumns } from '../../rules/document-row.ts';
import { documentWrites } from '../../write/documents.ts';
import { sql, step } from '../../read/queries.ts';
import type { DocumentFacts, Lookup } from '../write/known.ts';
import type { CommitWriter } from './writing.ts';

export const noDocumentFacts = (): DocumentFacts => ({
  documents: new Map(),
  documentKeys: new Map(),
  documentCounts: new Map(),
});

/** Kinds have no line feed. */
const named = (kind: string, name: string): string => `${kind}\n${name}`;

const versions = sql<{ kind: string; document_id: string; version: number }>(
  `SELECT kind, document_id, version FROM document
   WHERE project = $1 AND (kind, document_id) IN
     (SELECT e ->> 0, e ->> 1 FROM jsonb_array_elements($2::jsonb) e) FOR UPDATE`,
);
const keys = sql<{ kind: string; key: string; document_id: string }>(
  `SELECT kind, key, document_id FROM document
   WHERE project = $1 AND (kind, key) IN (SELECT e ->> 0, e ->> 1 FROM jsonb_array_elements($2::jsonb) e)`,
);
const counts = sql<{ kind: string; n: number }>(
  `SELECT kind, count(*) AS n FROM document
   WHERE project = $1 AND kind IN (SELECT jsonb_array_elements_text($2::jsonb)) GROUP BY kind`,
);

export function documentLookups(project: number, effects: readonly Effect[]): Lookup[] {
  const changes = effects.flatMap((effect) => (effect.kind === 'saveDocuments' ? effect.changes : []));
  if (changes.length === 0) return [];
  const ids = changes.map(versionOf);
  const saves = changes.flatMap((change) => ('save' in change ? [change] : []));
  const keyed = saves.flatMap(({ save: { kind, key } }) => (key === null ? [] : [[kind, key]]));
  const bounded = saves.flatMap(({ save: { kind }, most }) => (most === undefined ? [] : [kind]));
  const lookups: Lookup[] = [
    {
      step: step(versions, project, JSON.stringify(ids.map(({ kind, documentId }) => [kind, documentId]))),
      take: (rows, facts) => {
        for (const row of rows as { kind: string; document_id: string; version: number }[]) {
          facts.documents.set(named(row.kind, row.document_id), row.version);
        }
      },
    },
  ];
  if (keyed.length > 0) {
    lookups.push({
      step: step(keys, project, JSON.stringify(keyed)),
      take: (rows, facts) => {
        for (const row of rows as { kind: string; key: string; document_id: string }[]) {
          facts.documentKeys.set(named(row.kind, row.key), row.document_id);
        }
      },
    });
  }
  if (bounded.length > 0) {
    lookups.push({
      step: step(counts, project, JSON.stringify(bounded)),
      take: (rows, facts) => {
        for (const row of rows as { kind: string; n: number }[]) facts.documentCounts.set(row.kind, row.n);
      },
    });
  }
  return lookups;
}

export function documentRows({ facts, undo, add }: CommitWriter): DocumentRows {
  const writes = documentWrites(add);
  const count = (kind: string, more: number): void =>
    undo.set(facts.documentCounts, kind, (facts.documentCounts.get(kind) ?? 0) + more);
  return {
    documentVersion: (kind, documentId) => facts.documents.get(named(kind, documentId)) ?? null,
    documentOfKey: (kind, key) => facts.documentKeys.get(named(kind, key)) ?? null,
    countDocuments: (kind) => facts.documentCounts.get(kind) ?? 0,
    saveDocument: (made) => {
      const { kind, documentId, key, version } = made;
      if (!facts.documents.has(named(kind, documentId))) count(kind, 1);
      undo.set(facts.documents, named(kind, documentId), version);
      if (key !== null) undo.set(facts.documentKeys, named(kind, key), documentId);
      writes.saveDocument(made);
    },
    removeDocument: (kind, documentId) => {
      undo.delete(facts.documents, named(kind, documentId));
      for (const [key, owner] of facts.documentKeys) {
        if (owner === documentId && key.startsWith(`${kind}\n`)) undo.delete(facts.documentKeys, key);
      }
      count(kind, -1);
      writes.removeDocument(kind, documentId);
    },
  };
}

const claim = sql<StoredDocument & { project: number }>(
  `WITH RECURSIVE turn AS (
     SELECT min(project) AS project FROM document WHERE due_ms IS NOT NULL AND project > $2::int4
     UNION ALL
     SELECT (SELECT min(project) FROM document WHERE due_ms IS NOT NULL AND project > turn.project)
       FROM turn WHERE turn.project IS NOT NULL),
   due AS (
     SELECT first.project, first.document_id FROM turn CROSS JOIN LATERAL (
       SELECT project, document_id FROM document WHERE kind = $1 AND project = turn.project AND due_ms <= $3::int8
         AND status = ANY($4::text[])
         AND ($5::int4 IS NULL OR (SELECT count(*) FROM document b
           WHERE b.kind = $1 AND b.project = turn.project AND b.due_ms > $3::int8 AND b.status = $6) < $5::int4)
       ORDER BY due_ms LIMIT 1 FOR UPDATE SKIP LOCKED) first LIMIT 1)
   UPDATE document d SET status = coalesce($6, d.status), due_ms = $7::int8, version = d.version + 1
   FROM due WHERE d.project = due.project AND d.kind = $1 AND d.document_id = due.document_id
   RETURNING d.project, ${selected(documentColumns, { from: 'd' })}, (SELECT project_id FROM project p WHERE p.project = d.project) AS "projectId"`,
);

export function documentClaims(database: Database): Pick<DocumentStore, 'claimDocument'> {
  /** The number of the project served last, by kind; claims go up from it, then start at the first one. */
  const served = new Map<string, number>();
  return {
    claimDocument: async ({ kind, statuses, nowMs, leaseMs, becomes = null, most }) => {
      const from = (above: number) =>
        step(claim, kind, above, nowMs, textArray(statuses), most ?? null, becomes, nowMs + leaseMs);
      const last = served.get(kind) ?? 0;
      for (const above of last === 0 ? [0] : [last, 0]) {
        const [{ rows }] = await database.write({ duty: 'jobs' }, [from(above)]);
        const [row] = rows;
        if (row === undefined) continue;
        const { project, ...document } = row;
        served.set(kind, project);
        return document;
      }
      return null;
    },
  };
}

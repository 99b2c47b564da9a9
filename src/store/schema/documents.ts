/**
 * Documents outside the log (`src/store/port/documents.ts`). `fsck` compares those that the log records
 * (`src/store/fsck/tenants/documents.ts`). A migration of its own creates them.
 * Proven by `test/store/suite/documents.ts`.
 */
import { id } from './words.ts';

export const documentTable = `
CREATE TABLE document (
  project integer NOT NULL,
  kind ${id} NOT NULL,
  document_id ${id} NOT NULL,
  key ${id},
  parent_id ${id},
  status ${id} NOT NULL,
  created_ms bigint NOT NULL,
  due_ms bigint,
  version bigint NOT NULL,
  data text NOT NULL,
  PRIMARY KEY (project, kind, document_id)
);
CREATE UNIQUE INDEX document_key ON document (key, kind) WHERE key IS NOT NULL;
CREATE INDEX document_age ON document (project, kind, created_ms, document_id);
CREATE INDEX document_parent ON document (project, kind, parent_id, created_ms) WHERE parent_id IS NOT NULL;
CREATE INDEX document_due ON document (project, kind, due_ms) WHERE due_ms IS NOT NULL;
`;

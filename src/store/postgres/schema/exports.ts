/**
 * Tables of exports, with SQLite's columns (`src/store/file/schema/exports.ts`), and chunks of artifacts.
 * Chunks serve processes that share no directory.
 * Proven by `test/store/suite/governance/exports.ts`.
 */
import { changed, own, type TableRules } from './rule-words.ts';

const id = 'text COLLATE "C"';

export const exportTables = `
CREATE TABLE export_job (
  project integer NOT NULL,
  export_id ${id} NOT NULL,
  job_id ${id} NOT NULL,
  resource text NOT NULL,
  format text NOT NULL,
  filters text NOT NULL,
  include_proof integer NOT NULL CHECK (include_proof IN (0, 1)),
  tree_size bigint NOT NULL,
  created_ms bigint NOT NULL,
  artifact text,
  row_count bigint,
  size_bytes bigint,
  digest bytea CHECK (octet_length(digest) = 32),
  manifest text,
  completed_ms bigint,
  expires_ms bigint,
  removed integer NOT NULL DEFAULT 0 CHECK (removed IN (0, 1)),
  PRIMARY KEY (project, export_id),
  CHECK ((completed_ms IS NULL) = (artifact IS NULL) AND (completed_ms IS NULL) = (row_count IS NULL)
    AND (completed_ms IS NULL) = (size_bytes IS NULL) AND (completed_ms IS NULL) = (digest IS NULL)
    AND (completed_ms IS NULL) = (manifest IS NULL) AND (completed_ms IS NULL) = (expires_ms IS NULL))
);
CREATE INDEX export_job_age ON export_job (project, created_ms, export_id);
CREATE INDEX export_job_kept ON export_job (project, export_id) WHERE removed = 0;

CREATE TABLE export_chunk (
  project integer NOT NULL,
  export_id ${id} NOT NULL,
  artifact ${id} NOT NULL,
  n integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (project, export_id, artifact, n)
);
ALTER TABLE export_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;`;

/** `sweeping`: SQL, whether the sweep asks, which serves all tenants. */
export const exportRules = (sweeping: string): Readonly<Record<string, TableRules>> => ({
  export_job: {
    sees: `${own} OR ${sweeping}`,
    writes: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `(OLD.completed_ms IS NOT NULL AND (NEW.expires_ms > OLD.expires_ms
          OR ${changed('artifact row_count size_bytes digest manifest completed_ms')}))
        OR NEW.removed < OLD.removed
        OR ${changed('project export_id job_id resource format filters include_proof tree_size created_ms')}`,
      message: 'an export is completed once and removed once, and nothing else of it changes',
    },
  },
  export_chunk: { sees: own, may: 'SELECT, INSERT, DELETE', changes: null },
});

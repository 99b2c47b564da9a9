/** Exports and their artifacts, in both engines. Proven by `test/store/schema/tables.test.ts`. */
import { id } from './words.ts';

export const exportTable = `
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
`;

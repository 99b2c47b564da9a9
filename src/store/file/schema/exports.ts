/**
 * Tables of exports: requests and results.
 * The work is a row of `job`; the artifact is a file. An export is completed once, and its artifact is
 * removed once.
 * Proven by `test/store/file/schema/exports.test.ts` and `test/store/suite/governance/exports.ts`.
 */
export const exported = `
CREATE TABLE export_job (
  project INTEGER NOT NULL,
  export_id TEXT NOT NULL,
  job_id TEXT NOT NULL,
  resource TEXT NOT NULL,
  format TEXT NOT NULL,
  filters TEXT NOT NULL,
  include_proof INTEGER NOT NULL CHECK (include_proof IN (0, 1)),
  tree_size INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  artifact TEXT,
  row_count INTEGER,
  size_bytes INTEGER,
  digest BLOB CHECK (length(digest) = 32),
  manifest TEXT,
  completed_ms INTEGER,
  expires_ms INTEGER,
  removed INTEGER NOT NULL DEFAULT 0 CHECK (removed IN (0, 1)),
  PRIMARY KEY (project, export_id),
  CHECK ((completed_ms IS NULL) = (artifact IS NULL) AND (completed_ms IS NULL) = (row_count IS NULL)
    AND (completed_ms IS NULL) = (size_bytes IS NULL) AND (completed_ms IS NULL) = (digest IS NULL)
    AND (completed_ms IS NULL) = (manifest IS NULL) AND (completed_ms IS NULL) = (expires_ms IS NULL))
) STRICT;
CREATE INDEX export_job_age ON export_job (project, created_ms, export_id);
CREATE INDEX export_job_kept ON export_job (project, export_id) WHERE removed = 0;
CREATE TRIGGER export_job_update BEFORE UPDATE ON export_job
WHEN (OLD.completed_ms IS NOT NULL AND (NEW.artifact <> OLD.artifact OR NEW.row_count <> OLD.row_count
    OR NEW.size_bytes <> OLD.size_bytes OR NEW.digest <> OLD.digest OR NEW.manifest <> OLD.manifest
    OR NEW.completed_ms IS NOT OLD.completed_ms OR NEW.expires_ms > OLD.expires_ms))
  OR NEW.removed < OLD.removed OR NEW.project <> OLD.project OR NEW.export_id <> OLD.export_id
  OR NEW.job_id <> OLD.job_id OR NEW.resource <> OLD.resource OR NEW.format <> OLD.format
  OR NEW.filters <> OLD.filters OR NEW.include_proof <> OLD.include_proof
  OR NEW.tree_size <> OLD.tree_size OR NEW.created_ms <> OLD.created_ms
BEGIN SELECT RAISE(ABORT, 'an export is completed once and removed once, and nothing else of it changes'); END;
CREATE TRIGGER export_job_delete BEFORE DELETE ON export_job
BEGIN SELECT RAISE(ABORT, 'export_job is append-only'); END;
`;

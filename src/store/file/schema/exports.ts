/**
 * Triggers of the table of exports.
 * The work is a row of `job`; the artifact is a file. An export is completed once, and its artifact is
 * removed once.
 * Proven by `test/store/file/schema/exports.test.ts` and `test/store/suite/governance/exports.ts`.
 */
export const exported = `
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

/**
 * The table of jobs for both engines, and the migration that gave it the status `cancelled`. PostgreSQL replaces the
 * rule of the column. SQLite cannot, so it copies the table. Each migration is one transaction.
 * Source: SQLite, "Making Other Kinds Of Table Schema Changes"; PostgreSQL 18, ALTER TABLE.
 * Proven by `test/store/file/schema/tables.test.ts` and `test/store/postgres/connection/database.test.ts`.
 */
import { id, inSqlite } from './words.ts';

/** As in the first version. */
export const jobTable = `
CREATE TABLE job (
  project integer NOT NULL,
  job_id ${id} NOT NULL,
  type text NOT NULL,
  run_id ${id} NOT NULL,
  request text,
  created_ms bigint NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed')),
  attempt integer NOT NULL,
  attempts_before integer NOT NULL,
  due_ms bigint NOT NULL,
  lease text,
  started_ms bigint,
  completed_ms bigint,
  result text,
  result_id ${id},
  summary text,
  error_summary text,
  PRIMARY KEY (project, job_id)
);
`;

export const jobIndexes = `
CREATE UNIQUE INDEX job_result ON job (project, result_id) WHERE result_id IS NOT NULL;
CREATE INDEX job_age ON job (project, created_ms, job_id);
CREATE INDEX job_due ON job (project, due_ms, created_ms) WHERE status IN ('pending', 'processing');
`;

const before = "'completed', 'failed'";
const after = "'completed', 'failed', 'cancelled'";

/** Cost: a copy of all jobs, once. */
export const cancelledInSqlite = `${inSqlite(
  jobTable.replace('CREATE TABLE job', 'CREATE TABLE job_new').replace(before, after),
)}
INSERT INTO job_new SELECT * FROM job;
DROP TABLE job;
ALTER TABLE job_new RENAME TO job;
${jobIndexes}`;

export const cancelledInPostgres = `
ALTER TABLE job DROP CONSTRAINT job_status_check;
ALTER TABLE job ADD CONSTRAINT job_status_check CHECK (status IN ('pending', 'processing', ${after}));
DROP INDEX job_ended;
CREATE INDEX job_ended ON job (completed_ms) WHERE request IS NOT NULL AND status IN (${after});`;

/**
 * Reads of jobs. /jobs lists all but the jobs of exports.
 * Proven by `test/store/suite/governance/jobs.ts`.
 */
import { endOfTime } from '../port/bounds.ts';
import type { StoreReader } from '../port/store.ts';
import { selected } from '../rules/columns.ts';
import { isListed, jobColumns, keptRequestSql, queueMembers, type JobRow } from '../rules/job-row.ts';
import { both, firstOf, rowsOf, type Queries } from './queries.ts';

const listed = `${selected(jobColumns, { not: ['request', 'result', ...queueMembers] })}, ${keptRequestSql} AS request`;
const one = both<JobRow>(
  `SELECT ${listed}, result FROM job WHERE project = $1 AND job_id = $2 AND ${isListed}`,
);
const withResult = both<JobRow>(
  `SELECT ${listed}, result FROM job WHERE project = $1 AND result_id = $2 AND ${isListed}`,
);
const page = both<JobRow>(
  `SELECT ${listed}, NULL AS result FROM job
   WHERE project = $1 AND (created_ms, job_id) < ($2, $3) AND created_ms BETWEEN $4 AND $5
     AND ($6::text IS NULL OR type = $6) AND ($7::text IS NULL OR status = $7) AND ($8::text IS NULL OR run_id = $8)
     AND ${isListed}
   ORDER BY created_ms DESC, job_id DESC LIMIT $9`,
);

export function jobReads(queries: Queries): Pick<StoreReader, 'job' | 'jobWithResult' | 'jobs'> {
  const readJob = (row: JobRow): JobRow => ({ ...row, errorSummary: queries.text(row.errorSummary) });
  return {
    job: async (projectId, jobId) => firstOf(await rowsOf(queries, projectId, one, jobId), readJob),
    jobWithResult: async (projectId, resultId) =>
      firstOf(await rowsOf(queries, projectId, withResult, resultId), readJob),
    jobs: async (projectId, filter, { after, limit }) => {
      const { type = null, status = null, runId = null, startMs = 0, endMs = endOfTime } = filter;
      const values = [after?.ms ?? endOfTime, after?.id ?? '', startMs, endMs, type, status, runId, limit];
      return (await rowsOf(queries, projectId, page, ...values)).map(readJob);
    },
  };
}

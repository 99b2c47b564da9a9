/**
 * The row of a job, the same in both engines. Lists read it without request and result.
 * Proven by `test/store/suite/governance/jobs.ts`.
 */
import type { JobStatus, JobType } from '../../contract/jobs.ts';
import type { QueuedType, StoredJob } from '../port/store.ts';

export interface JobRow<Type extends QueuedType = JobType> {
  job_id: string;
  type: Type;
  run_id: string;
  request: string | null;
  created_ms: number;
  status: JobStatus;
  attempt: number;
  started_ms: number | null;
  completed_ms: number | null;
  result: string | null;
  result_id: string | null;
  summary: string | null;
  error_summary: string | null;
}

export const jobColumns = `job_id, type, run_id, created_ms, status, attempt, started_ms, completed_ms, result_id, summary,
  error_summary`;
/** SQL: the jobs that /jobs lists. /exports shows the others. */
export const isListed = "type <> 'export'";

export const jobOf = <Type extends QueuedType>(
  row: JobRow<Type>,
): Omit<StoredJob, 'type'> & { type: Type } => ({
  jobId: row.job_id,
  type: row.type,
  runId: row.run_id,
  request: row.request,
  createdMs: row.created_ms,
  status: row.status,
  attempt: row.attempt,
  startedMs: row.started_ms,
  completedMs: row.completed_ms,
  result: row.result,
  resultId: row.result_id,
  summary: row.summary,
  errorSummary: row.error_summary,
});

/**
 * The row of a job, the same in both engines. Lists read it without request and result.
 * Proven by `test/store/suite/governance/jobs.ts`.
 */
import type { JobStatus, JobType } from '../../contract/job-words.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
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
/** SQL: the stored request of a job; a larger one is kept only until the job ends (contract H5). */
export const keptRequestSql = `CASE WHEN octet_length(request) <= ${limits.jobRequestBytes} THEN request END`;
/** SQL: jobs that have not ended: their index has the same condition. */
export const openSql = "status IN ('pending', 'processing')";
/** SQL: jobs that have ended. */
export const endedSql = "status IN ('completed', 'failed', 'cancelled')";
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

/** Throws unless the job failed or was cancelled, and its request is still stored. */
export function refuseRetry(jobId: string, row: JobRow | undefined): void {
  if (row === undefined) throw new GovError('NOT_FOUND', `expected a job of this project, got ${jobId}`);
  if (row.status !== 'failed' && row.status !== 'cancelled') {
    throw new GovError(
      'JOB_NOT_RETRYABLE',
      `expected a failed or cancelled job, got ${jobId}, which is ${row.status}`,
    );
  }
  if (row.request !== null) return;
  throw new GovError(
    'JOB_PAYLOAD_UNAVAILABLE',
    `expected a stored request, got job ${jobId} without one; send the request again`,
  );
}

/**
 * The row of a job, the same in both engines. Lists read it without request and result.
 * Proven by `test/store/suite/governance/jobs.ts`.
 */
import type { JobType } from '../../contract/job-words.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { QueuedType, StoredJob } from '../port/store.ts';
import { columnsOf, words } from './columns.ts';

/** What reads return, of jobs and of exports. */
export type JobRow<Type extends QueuedType = JobType> = Omit<StoredJob, 'type'> & { readonly type: Type };

/** Its place in the queue. */
interface QueueRow {
  readonly attemptsBefore: number;
  readonly dueMs: number;
  readonly lease: string | null;
}

export const jobColumns = columnsOf<JobRow<QueuedType> & QueueRow>('job', {
  jobId: 'job_id',
  type: 'type',
  runId: 'run_id',
  request: 'request',
  createdMs: 'created_ms',
  status: 'status',
  attempt: 'attempt',
  startedMs: 'started_ms',
  completedMs: 'completed_ms',
  result: 'result',
  resultId: 'result_id',
  summary: 'summary',
  errorSummary: words('error_summary'),
  attemptsBefore: 'attempts_before',
  dueMs: 'due_ms',
  lease: 'lease',
});
/** Members that no read shows. */
export const queueMembers = ['attemptsBefore', 'dueMs', 'lease'] as const;
/** SQL: the stored request of a job; a larger one is kept only until the job ends (contract H5). */
export const keptRequestSql = `CASE WHEN octet_length(request) <= ${limits.jobRequestBytes} THEN request END`;
/** SQL: jobs that have not ended: their index has the same condition. */
export const openSql = "status IN ('pending', 'processing')";
/** SQL: jobs that have ended. */
export const endedSql = "status IN ('completed', 'failed', 'cancelled')";
/** SQL: the jobs that /jobs lists. /exports shows the others. */
export const isListed = "type <> 'export'";

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

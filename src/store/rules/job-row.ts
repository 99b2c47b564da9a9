/**
 * The row of a job, the same in both engines. Lists read it without request and result.
 * Proven by `test/store/suite/governance/jobs.ts`.
 */
import type { JobType } from '../../contract/job-words.ts';
import { limits } from '../../contract/limits.ts';
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

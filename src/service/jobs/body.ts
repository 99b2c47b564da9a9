/** A job as lists and exports show it. Proven by `test/service/jobs/handlers.engines.test.ts`. */
import { formatTimestamp } from '../../core/time.ts';
import type { StoredJob } from '../../store/port/store.ts';

const time = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));

export const jobTimes = ({ createdMs, completedMs }: StoredJob) => ({
  createdAt: formatTimestamp(createdMs),
  completedAt: time(completedMs),
});

/** Why a job failed, or why its last attempt did. A job that completed later has no error. */
export const jobFailure = ({ status, errorSummary }: StoredJob) => ({
  errorSummary: status === 'completed' ? null : errorSummary,
});

export const jobIdentity = ({ jobId, type, runId, status }: StoredJob) => ({ jobId, type, runId, status });
const read = (text: string | null): unknown => (text === null ? null : (JSON.parse(text) as unknown));

/** Never negative, also where the clock was set back in the meantime. */
const durationMs = ({ startedMs, completedMs }: StoredJob): number | null =>
  completedMs === null || startedMs === null ? null : Math.max(0, completedMs - startedMs);

export const listedJob = (job: StoredJob) => ({
  ...jobIdentity(job),
  ...jobTimes(job),
  durationMs: durationMs(job),
  ...jobFailure(job),
  request: read(job.request),
});

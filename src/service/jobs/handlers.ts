/**
 * Handlers of jobs (contract H1-H8): state, lists, retries, cancellation. `src/service/job-worker.ts` runs the jobs. Proven by
 * `test/service/jobs/handlers.engines.test.ts`.
 */
import { isOpen } from '../../contract/job-words.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { StoppedJob, StoredJob } from '../../store/port/store.ts';
import { idempotencyWrite } from '../call/idempotency.ts';
import { unlessOvertaken, untilStored } from '../call/overtaken.ts';
import { append } from '../writes/append.ts';
import { notFound } from '../call/answer.ts';
import type { Handlers } from '../port/handler.ts';
import { cancel } from './cancel.ts';
import { jobCancelled } from './events.ts';
import { jobFailure, jobIdentity, jobTimes, listedJob } from './body.ts';
import { byAge, pageLimit, sizedPage, timeRange } from '../call/pages.ts';
import { resultOf } from './result.ts';

/** Clients should not poll sooner than this (contract H7). */
export const retryAfter = { 'retry-after': '1' } as const;

export const jobs: Pick<Handlers, 'getJob' | 'listJobs' | 'retryJob' | 'cancelJob'> = {
  async getJob({ params, caller }, { store }) {
    const { projectId } = caller.project;
    const job = await store.job(projectId, params.jobId);
    if (job === null) throw notFound('job');
    if (job.status === 'completed') {
      return { status: 200, raw: completedBody(job, await resultOf(store, projectId, job)) };
    }
    return { ...jobAnswer(job), ...(isOpen(job.status) ? { headers: retryAfter } : {}) };
  },

  async listJobs({ query, caller }, services) {
    const { projectId } = caller.project;
    const { type, status, runId, cursor } = query;
    const filter = {
      ...(type === undefined ? {} : { type }),
      ...(status === undefined ? {} : { status }),
      ...(runId === undefined ? {} : { runId }),
      ...timeRange(query),
    };
    const { items, nextCursor } = await sizedPage(services, {
      scope: { list: 'jobs', projectId, filters: filter },
      cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: Parameters<typeof services.store.jobs>[2]) => services.store.jobs(projectId, filter, page),
      position: (job) => byAge(job.createdMs, job.jobId),
      item: (job) => ({ item: listedJob(job), bytes: job.request?.length ?? 0 }),
    });
    return { status: 200, body: { data: items, nextCursor } };
  },

  async retryJob(call, services) {
    const { params, caller, basePath } = call;
    const { projectId } = caller.project;
    return untilStored(`job ${params.jobId}`, async () => {
      const job = await services.store.job(projectId, params.jobId);
      if (job === null) throw notFound('job');
      const from = stoppedJob(job);
      const atMs = services.now();
      const { jobId, type, runId, attempt, createdMs } = job;
      const answer = {
        status: 202,
        body: {
          jobId,
          type,
          status: 'pending',
          runId,
          attempt: attempt + 1,
          createdAt: formatTimestamp(createdMs),
          retriedAt: formatTimestamp(atMs),
        },
        headers: { ...retryAfter, location: `${basePath}/jobs/${jobId}` },
      } as const;
      const retried = append(services, {
        projectId,
        leaves: [],
        effects: [{ kind: 'retryJob', jobId, from, atMs }],
        ...idempotencyWrite(call.idempotency, answer),
      });
      const stored = await unlessOvertaken(retried, 'CONFLICT');
      if (stored === null || 'replayed' in stored) return stored;
      services.wakeJobs();
      return answer;
    });
  },

  cancelJob(call, services) {
    const { params, caller } = call;
    const { store, salt } = services;
    return cancel(call, services, {
      find: async () => {
        const job = await store.job(caller.project.projectId, params.jobId);
        if (job === null) throw notFound('job');
        return job;
      },
      event: (job, nowMs) => jobCancelled(job, { nowMs, salt, by: caller }),
      cancelled: (job, completedMs) => ({ ...job, status: 'cancelled', completedMs }),
      answer: jobAnswer,
      refusal: ({ jobId, status }) =>
        `expected a job that has not ended, got ${jobId}, which is ${status}; ` +
        (status === 'failed'
          ? 'there is nothing to stop'
          : 'its result stays: read it with GET /jobs/{jobId}'),
    });
  },
};

/** The state of a job that may be retried. JOB_NOT_RETRYABLE, JOB_PAYLOAD_UNAVAILABLE. */
function stoppedJob({ jobId, status, attempt, request }: StoredJob): StoppedJob {
  if (status !== 'failed' && status !== 'cancelled') {
    const detail = `expected a failed or cancelled job, got ${jobId}, which is ${status}`;
    throw new GovError('JOB_NOT_RETRYABLE', detail);
  }
  if (request !== null) return { status, attempt };
  const detail = `expected a stored request, got job ${jobId} without one; send the request again`;
  throw new GovError('JOB_PAYLOAD_UNAVAILABLE', detail);
}

const jobAnswer = (job: StoredJob) =>
  ({ status: 200, body: { ...jobIdentity(job), ...jobTimes(job), ...jobFailure(job) } }) as const;

/**
 * The body of a completed job. A result can be tens of megabytes, so its stored text is inserted unparsed.
 */
const completedBody = (job: StoredJob, result: string): Buffer => {
  const head = JSON.stringify(jobIdentity(job));
  const tail = JSON.stringify({ ...jobTimes(job), ...jobFailure(job) });
  return Buffer.from(`${head.slice(0, -1)},"result":${result},${tail.slice(1)}`);
};

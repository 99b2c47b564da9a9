/**
 * Writes of jobs. A running job has a lease, so a lease finds no other one. A condition on its status could make
 * PostgreSQL use the index of due jobs of all projects.
 * Proven by `test/store/suite/governance/jobs.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { Effect, NewJob, Store } from '../port/store.ts';
import { jobColumns, keptRequestSql } from '../rules/job-row.ts';
import { insert, update, write, type Writer } from './statement.ts';

type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

const enqueue = insert(jobColumns, [
  'jobId',
  'type',
  'runId',
  'request',
  'resultId',
  'createdMs',
  'status',
  'attempt',
  'attemptsBefore',
  'dueMs',
]);
const ended = `lease = NULL, request = ${keptRequestSql}`;
const complete = update(jobColumns, {
  set: ['status', 'result', 'summary', 'completedMs'],
  also: ended,
  by: ['jobId', 'lease'],
});
const fail = update(jobColumns, {
  set: ['status', 'errorSummary', 'completedMs'],
  also: ended,
  by: ['jobId', 'lease'],
});
const cancel = write<{ jobId: string; status: string; startedMs: number | null; completedMs: number }>(
  'cancel job',
  `UPDATE job SET status = 'cancelled', completed_ms = :completedMs, ${ended} WHERE project = :project
     AND job_id = :jobId AND status = :status AND started_ms IS NOT DISTINCT FROM :startedMs::int8`,
);
const renew = update(jobColumns, { set: ['dueMs'], by: ['jobId', 'lease'] });
const putBack = write<{ jobId: string; lease: string; dueMs: number; excused: number; errorSummary: string }>(
  'put job back',
  `UPDATE job SET status = 'pending', lease = NULL, due_ms = :dueMs, attempt = attempt + 1,
     attempts_before = attempts_before + :excused::int4, error_summary = :errorSummary
   WHERE project = :project AND job_id = :jobId AND lease = :lease`,
  ['errorSummary'],
);

const retry = write<{ jobId: string; status: string; attempt: number; dueMs: number }>(
  'retry job',
  `UPDATE job SET status = 'pending', due_ms = :dueMs, attempt = attempt + 1, attempts_before = attempt,
     started_ms = NULL, completed_ms = NULL, result = NULL, summary = NULL, error_summary = NULL
   WHERE project = :project AND job_id = :jobId AND status = :status AND attempt = :attempt::int4
     AND request IS NOT NULL`,
);

export const jobEffectWrites = <Done>(run: Writer<Done>) => ({
  enqueueJob: ({ jobId, type, runId, request, resultId = null, createdMs }: NewJob) => {
    const fresh = { status: 'pending', attempt: 1, attemptsBefore: 0, dueMs: createdMs } as const;
    return run(enqueue, { jobId, type, runId, request, resultId, createdMs, ...fresh });
  },
  completeJob: ({ jobId, lease, result, summary = null, atMs }: EffectOf<'completeJob'>) =>
    run(complete, { status: 'completed', jobId, lease, result, summary, completedMs: atMs }),
  failJob: ({ jobId, lease, errorSummary, atMs }: EffectOf<'failJob'>) =>
    run(fail, { status: 'failed', jobId, lease, errorSummary, completedMs: atMs }),
  cancelJob: ({ jobId, from: { status, startedMs }, atMs }: EffectOf<'cancelJob'>) =>
    run(cancel, { jobId, status, startedMs, completedMs: atMs }),
  retryJob: ({ jobId, from: { status, attempt }, atMs }: EffectOf<'retryJob'>) =>
    run(retry, { jobId, status, attempt, dueMs: atMs }),
});

export type JobFailure = Parameters<Store['failJob']>[2];

/** Writes outside commits. A `renewJob` or `failJob` without the lease changes no row. */
export const jobMoveWrites = <Done>(run: Writer<Done>) => ({
  renewJob: (jobId: string, lease: string, untilMs: number) => run(renew, { jobId, lease, dueMs: untilMs }),
  failJob: (jobId: string, { lease, errorSummary: text, atMs, retryAtMs, isExcused = false }: JobFailure) => {
    const errorSummary = text.slice(0, limits.jobErrorChars);
    return retryAtMs === null
      ? run(fail, { status: 'failed', jobId, lease, errorSummary, completedMs: atMs })
      : run(putBack, { jobId, lease, errorSummary, dueMs: retryAtMs, excused: Number(isExcused) });
  },
});

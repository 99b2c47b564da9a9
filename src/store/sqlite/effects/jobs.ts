/**
 * The transitions of a job's life. Projects take turns. All times are the caller's. A job is
 * due when its retry time or its lease has passed; one column and one index serve both.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import {
  isListed,
  jobColumns,
  jobOf,
  keptRequestSql,
  openSql,
  refuseRetry,
  type JobRow,
} from '../../rules/job-row.ts';
import type { ClaimedJob, QueuedType, StoredJob } from '../../port/store.ts';
import type { Connection, Value } from '../../file/connection.ts';
import type { Prepare } from '../../file/statement.ts';

const columns = `${jobColumns}, request, result`;

/**
 * SQL: finds the first project above a number that has a due job, and its longest due job. Steps from project
 * to project by the index. Cost: the projects whose jobs are not due yet.
 */
const dueAbove = (wanted: string): string =>
  `WITH RECURSIVE turn (project) AS (
     SELECT min(project) FROM job WHERE ${openSql} AND project > ?
     UNION ALL
     SELECT (SELECT min(project) FROM job WHERE ${openSql} AND project > turn.project)
       FROM turn WHERE turn.project IS NOT NULL)
   SELECT ${wanted} FROM turn CROSS JOIN job ON job.rowid = (
       SELECT rowid FROM job WHERE ${openSql} AND project = turn.project AND due_ms <= ?
       ORDER BY due_ms, created_ms LIMIT 1)
     CROSS JOIN project ON project.project = job.project LIMIT 1`;

/** Whether some job is due. Asked before a claim, so that waiting for work writes nothing. */
export function dueJobs(db: Connection): (nowMs: number) => boolean {
  const due = db.prepare<Value[]>(dueAbove('1'));
  return (nowMs) => due.get(0, nowMs) !== undefined;
}

export interface JobMoves {
  claim(nowMs: number, lease: { readonly token: string; readonly untilMs: number }): ClaimedJob | null;
  renew(project: number, jobId: string, lease: { readonly token: string; readonly untilMs: number }): boolean;
  /** False if the lease was lost. */
  fail(project: number, jobId: string, failure: JobFailure): boolean;
  retry(project: number, jobId: string, atMs: number): StoredJob;
}

const held = "WHERE project = ? AND job_id = ? AND lease = ? AND status = 'processing'";
/** SQL: ends a job as failed; changes nothing if the lease was lost. */
export const failJobSql = `UPDATE job SET status = 'failed', lease = NULL, completed_ms = ?, error_summary = ?,
     request = ${keptRequestSql} ${held}`;

export interface JobFailure {
  readonly lease: string;
  readonly errorSummary: string;
  readonly atMs: number;
  readonly retryAtMs: number | null;
  readonly isExcused?: boolean;
}

interface DueRow extends JobRow<QueuedType> {
  project: number;
  project_id: string;
  attempts_before: number;
}

/** The statements of a job's transitions; each transition is one transaction. */
export function jobMoves(prepare: Prepare): JobMoves {
  return { claim: claimer(prepare), ...holder(prepare), retry: retrier(prepare) };
}

function claimer(prepare: Prepare): JobMoves['claim'] {
  const due = prepare<DueRow>(
    'find due job',
    dueAbove(`${columns}, job.project, project_id, attempts_before`),
  );
  const take = prepare(
    'claim job',
    `UPDATE job SET status = 'processing', attempt = ?, lease = ?, due_ms = ?, started_ms = ?
     WHERE project = ? AND job_id = ?`,
  );
  let served = 0; // number of the project served last
  return (nowMs, lease) => {
    const row = due.get(served, nowMs) ?? due.get(0, nowMs);
    if (row === undefined) return null;
    const { project, job_id: jobId } = row;
    const next = row.status === 'processing' ? row.attempt + 1 : row.attempt;
    const tries = next - row.attempts_before;
    // claimed only to be failed, which is no attempt
    const isLost = tries > limits.jobAttempts;
    const [attempt, startedMs] = isLost ? [row.attempt, row.started_ms] : [next, nowMs];
    served = project;
    take.run(attempt, lease.token, lease.untilMs, startedMs, project, jobId);
    const claimed = { ...row, attempt, status: 'processing' as const, started_ms: startedMs };
    return {
      ...jobOf(claimed),
      request: row.request ?? '',
      projectId: row.project_id,
      lease: lease.token,
      tries,
    };
  };
}

function holder(prepare: Prepare): Pick<JobMoves, 'renew' | 'fail'> {
  const renew = prepare('renew job', `UPDATE job SET due_ms = ? ${held}`);
  const fail = prepare('fail job', failJobSql);
  const putBack = prepare(
    'put job back',
    `UPDATE job SET status = 'pending', lease = NULL, due_ms = ?, attempt = attempt + 1, attempts_before = attempts_before + ?,
       error_summary = ? ${held}`,
  );
  return {
    renew: (project, jobId, { token, untilMs }) => renew.run(untilMs, project, jobId, token).changes === 1,
    fail: (project, jobId, { lease, errorSummary, atMs, retryAtMs, isExcused = false }) => {
      const summary = errorSummary.slice(0, limits.jobErrorChars);
      // Without the lease the job belongs to another worker, or was cancelled: nothing changes.
      const { changes } =
        retryAtMs === null
          ? fail.run(atMs, summary, project, jobId, lease)
          : putBack.run(retryAtMs, isExcused ? 1 : 0, summary, project, jobId, lease);
      return changes === 1;
    },
  };
}

function retrier(prepare: Prepare): JobMoves['retry'] {
  const find = prepare<JobRow>(
    'find job',
    `SELECT ${columns} FROM job WHERE project = ? AND job_id = ? AND ${isListed}`,
  );
  const retry = prepare(
    'retry job',
    `UPDATE job SET status = 'pending', attempt = attempt + 1, attempts_before = attempt, due_ms = ?,
       started_ms = NULL, completed_ms = NULL, result = NULL, summary = NULL,
       error_summary = NULL
     WHERE project = ? AND job_id = ?`,
  );
  return (project, jobId, atMs) => {
    refuseRetry(jobId, find.get(project, jobId));
    retry.run(atMs, project, jobId);
    const after = find.get(project, jobId);
    if (after === undefined) throw new Error(`expected job ${jobId} after its update, got no row`);
    return jobOf(after);
  };
}

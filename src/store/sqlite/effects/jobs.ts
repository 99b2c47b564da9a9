/**
 * The transitions of a job's life. Projects take turns. All times are the caller's. A job is
 * due when its retry time or its lease has passed; one column and one index serve both.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { selected } from '../../rules/columns.ts';
import { jobColumns, openSql, queueMembers, type JobRow } from '../../rules/job-row.ts';
import type { ClaimedJob, QueuedType } from '../../port/store.ts';
import type { Connection, Value } from '../../file/connection.ts';
import type { Prepare } from '../../file/statement.ts';
import { jobMoveWrites, type JobFailure } from '../../write/jobs.ts';
import { runner } from './writing.ts';

const columns = selected(jobColumns, { not: queueMembers });

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
}

interface DueRow extends JobRow<QueuedType> {
  project: number;
  projectId: string;
  attemptsBefore: number;
}

/** The statements of a job's transitions; each transition is one transaction. */
export function jobMoves(prepare: Prepare): JobMoves {
  const run = runner(prepare);
  const of = (project: number) => jobMoveWrites<number>((made, values) => run(project, made, values));
  return {
    claim: claimer(prepare),
    renew: (project, jobId, { token, untilMs }) => of(project).renewJob(jobId, token, untilMs) === 1,
    fail: (project, jobId, failure) => of(project).failJob(jobId, failure) === 1,
  };
}

function claimer(prepare: Prepare): JobMoves['claim'] {
  const due = prepare<DueRow>(
    'find due job',
    dueAbove(`${columns}, job.project, project_id AS projectId, attempts_before AS attemptsBefore`),
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
    const { project, projectId, attemptsBefore, ...job } = row;
    const next = job.status === 'processing' ? job.attempt + 1 : job.attempt;
    const tries = next - attemptsBefore;
    // claimed only to be failed, which is no attempt
    const isLost = tries > limits.jobAttempts;
    const [attempt, startedMs] = isLost ? [job.attempt, job.startedMs] : [next, nowMs];
    served = project;
    take.run(attempt, lease.token, lease.untilMs, startedMs, project, job.jobId);
    const claimed = { ...job, request: job.request ?? '', status: 'processing' as const, attempt, startedMs };
    return { ...claimed, projectId, lease: lease.token, tries };
  };
}

/**
 * The transitions of a job's life, one statement each. Each process serves the projects in
 * turn. A job is due when its retry time or its lease has passed. Several processes claim at a time: `FOR
 * UPDATE SKIP LOCKED` gives each job to one of them. A crash of a worker leaves its lease, which expires.
 * Source: PostgreSQL 18, SELECT (the locking clause).
 * Proven by `test/store/suite/governance/jobs.ts` and `test/store/postgres/processes.long.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { QueuedType, Store } from '../../port/store.ts';
import type { Database } from '../connection/database.ts';
import { selected } from '../../rules/columns.ts';
import { jobColumns, openSql, queueMembers, type JobRow } from '../../rules/job-row.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import { readOrNull } from './texts.ts';
import { stepper } from './writing.ts';
import { sql, step } from '../../read/queries.ts';
import { jobMoveWrites } from '../../write/jobs.ts';

/** Decodes the error text. */
const readJob = <Row extends JobRow<QueuedType>>(row: Row): Row => ({
  ...row,
  errorSummary: readOrNull(row.errorSummary),
});

interface ClaimedRow extends JobRow<QueuedType> {
  project: number;
  projectId: string;
  tries: number;
}

/** A lost lease counts as an attempt. After the last one the job is claimed only to be failed, which is no attempt. */
const tries = "(attempt + CASE status WHEN 'processing' THEN 1 ELSE 0 END - attempts_before)";
const lost = `due.tries > ${limits.jobAttempts}`;
/**
 * Finds the first project above $4 that has a due job, and claims its longest due job. Steps from project to
 * project by the index. Cost: the projects whose jobs are not due yet.
 */
const claim = sql<ClaimedRow>(
  `WITH RECURSIVE turn AS (
     SELECT min(project) AS project FROM job WHERE ${openSql} AND project > $4
     UNION ALL
     SELECT (SELECT min(project) FROM job WHERE ${openSql} AND project > turn.project)
       FROM turn WHERE turn.project IS NOT NULL),
   due AS (
     SELECT first.project, first.job_id, first.tries FROM turn CROSS JOIN LATERAL (
       SELECT project, job_id, ${tries} AS tries FROM job WHERE ${openSql} AND project = turn.project AND due_ms <= $1::int8
       ORDER BY due_ms, created_ms LIMIT 1 FOR UPDATE SKIP LOCKED) first LIMIT 1)
   UPDATE job j SET
     status = 'processing',
     attempt = CASE WHEN ${lost} THEN j.attempt ELSE due.tries + j.attempts_before END,
     lease = $2,
     due_ms = $3::int8,
     started_ms = CASE WHEN ${lost} THEN j.started_ms ELSE $1::int8 END
   FROM due WHERE j.project = due.project AND j.job_id = due.job_id
   RETURNING ${selected(jobColumns, { from: 'j', not: queueMembers })}, due.tries, j.project,
     (SELECT project_id FROM project p WHERE p.project = j.project) AS "projectId"`,
);

type JobMoves = Pick<Store, 'claimJob' | 'renewJob' | 'failJob'>;

const of = (project: number) => jobMoveWrites(stepper(project));

export function jobMoves(database: Database, numberOf: ProjectNumber, newLease: () => string): JobMoves {
  /** Claims of one process run one after the other, so that they get the jobs in order. */
  let claiming: Promise<unknown> = Promise.resolve();
  let served = 0; // number of the project served last; claims go up from it, then start at the first one
  const claimNext: JobMoves['claimJob'] = async (nowMs, leaseMs) => {
    for (;;) {
      const lease = newLease();
      const next = step(claim, nowMs, lease, nowMs + leaseMs, served);
      const [{ rows }] = await database.write({ duty: 'jobs' }, [next]);
      const [row] = rows;
      if (row === undefined && served === 0) return null;
      served = row?.project ?? 0;
      if (row === undefined) continue;
      const { project: _, request, ...job } = readJob(row);
      return { ...job, request: request ?? '', lease };
    }
  };
  return {
    claimJob: (nowMs, leaseMs) => {
      const claimed = claiming.then(() => claimNext(nowMs, leaseMs));
      claiming = claimed.catch(() => {});
      return claimed;
    },
    renewJob: async (projectId, jobId, lease, untilMs) => {
      const project = await numberOf(projectId);
      const [{ count }] = await database.write({ project }, [of(project).renewJob(jobId, lease, untilMs)]);
      return count === 1;
    },
    failJob: async (projectId, jobId, failure) => {
      const project = await numberOf(projectId);
      const [{ count }] = await database.write({ project }, [of(project).failJob(jobId, failure)]);
      return count === 1;
    },
  };
}

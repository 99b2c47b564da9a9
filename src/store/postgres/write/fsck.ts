/**
 * Checks a database from the records up, with the check of the SQLite engine. It copies each project, in one
 * snapshot and row by row, into a database file, which `src/store/fsck/run.ts` checks. One check serves both
 * engines, at the cost of space for the largest project. It only reads, while processes serve, and runs under
 * the serving role.
 * Proven by `test/store/postgres/write/fsck.long.test.ts`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Organizations } from '../../fsck/tenants/organization-life.ts';
import { checkOrganizations } from '../../fsck/tenants/rows.ts';
import { fsckStore, type FsckOptions } from '../../fsck/run.ts';
import type { Check } from '../../fsck/check.ts';
import type { FsckReport } from '../../fsck/check.ts';
import type { FsckProblem } from '../../fsck/check.ts';
import type { Connection } from '../../file/connection.ts';
import { copyProject } from './copy.ts';
import { Database, type DatabaseOptions } from '../connection/database.ts';
import { problemOf } from '../connection/faults.ts';
import { sql, step } from '../../read/queries.ts';

export interface PostgresFsckOptions extends Omit<FsckOptions, 'dataDir'>, DatabaseOptions {
  /** The folder for copies. Default: the system's folder for temporary files. */
  readonly scratch?: string;
}

const keptProblems = 1000;
const all = sql<{ no: number; audit: string; metering: string }>(
  'SELECT project AS no, audit_origin AS audit, metering_origin AS metering FROM project ORDER BY project',
);
const sizes = sql<{ leaves: number }>(
  'SELECT coalesce(sum(size), 0)::int8 AS leaves FROM head WHERE project = $1',
);

/** STORAGE_FAULT if the database is unreadable; CONFLICT for a role that row-level security does not bind. */
export async function fsckPostgres(options: PostgresFsckOptions): Promise<FsckReport> {
  const database = new Database(options);
  try {
    const projects = (await database.read({ duty: 'check' }, [step(all)]))[0].rows;
    let of = 0;
    for (const { no } of projects) {
      of += (await database.read({ project: no }, [step(sizes, no)]))[0].rows[0]?.leaves ?? 0;
    }
    const report = { problems: [] as FsckProblem[], found: 0, leaves: 0, checkpoints: 0, unopened: 0 };
    const organizations = new Organizations();
    const { signed = [] } = options;
    const known = new Set(projects.flatMap(({ audit, metering }) => [audit, metering]));
    for (const { no, audit, metering } of projects) {
      const { leaves: done } = report;
      const one = await checkCopy(database, no, {
        ...options,
        organizations,
        signed: signed.filter(({ origin }) => origin === audit || origin === metering),
        onProgress: (progress) => options.onProgress?.({ done: done + progress.done, of }),
      });
      report.problems.push(...one.problems.slice(0, keptProblems - report.problems.length));
      report.found += one.found;
      report.leaves += one.leaves;
      report.checkpoints += one.checkpoints;
      report.unopened += one.unopened;
    }
    const problem: Check['problem'] = (position, kind, what) => {
      report.found += 1;
      if (report.problems.length < keptProblems) report.problems.push({ position, kind, ...what });
    };
    checkOrganizations({ problem }, organizations);
    for (const { origin, size } of signed) {
      if (known.has(origin)) continue;
      const expected = `a log of at least ${size} leaves`;
      problem(`heads/${origin}`, 'heads_mismatch', { expected, got: 'no such log' });
    }
    return { ...report, ok: report.found === 0, projects: projects.length, deep: options.deep ?? false };
  } catch (error) {
    throw problemOf(error, 'read');
  } finally {
    await database.close();
  }
}

async function checkCopy(database: Database, no: number, options: PostgresFsckOptions): Promise<FsckReport> {
  const dataDir = mkdtempSync(join(options.scratch ?? tmpdir(), 'gov-fsck-'));
  let subjects: Connection | null = null;
  try {
    subjects = await copyProject(database, no, dataDir);
    const { deep, onProgress, judgeNote, judgeReceipt, organizations, masterKey, signed } = options;
    return await fsckStore({
      dataDir,
      masterKey,
      ...(subjects === null ? {} : { subjects }),
      ...(signed === undefined ? {} : { signed }),
      ...(deep === undefined ? {} : { deep }),
      ...(onProgress === undefined ? {} : { onProgress }),
      ...(judgeNote === undefined ? {} : { judgeNote }),
      ...(judgeReceipt === undefined ? {} : { judgeReceipt }),
      ...(organizations === undefined ? {} : { organizations }),
    });
  } finally {
    subjects?.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

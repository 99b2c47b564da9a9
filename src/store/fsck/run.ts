/**
 * Checks a data directory from the records up, `gov log fsck`.
 * It reads only, and a process may serve the directory meanwhile. It checks:
 * - records → leaf hashes → tiles → heads and every signed checkpoint (RFC 6962 §2.1);
 * - the row of each project against the first leaf of its log;
 * - runs without gaps, monotonic server time, and counters;
 * - the root and the bounds of every index leaf against the map of the leaves below its size;
 * - bodies against the commitments of records;
 * - metering leaves against the audit leaves that they cover, and months against metering leaves;
 * - policies, the risk router's configuration, approvals, replays, proofs, graphs and the index of decisions
 *   against their leaves;
 * - rows that find repeated events and the events of a subject against bodies;
 * - keys, data planes, documents, projects and organizations against the system events;
 * - reports of data planes, and the counters that follow from them.
 * `tables.ts` names the tables that it does not compare, with the reason.
 * Memory grows with log n, policy versions, keys, data planes and organizations, and with the runs of a log that has index
 * leaves.
 * Proven by `test/store/fsck/run.test.ts`, `test/store/fsck/tamper.test.ts`,
 * `test/store/fsck/tamper-governed.test.ts`, `test/store/fsck/tamper-proved.test.ts`,
 * `test/store/fsck/tamper-reports.test.ts`, `test/host/data/tamper-receipts.long.test.ts` and
 * `test/host/data/tamper-tenants.long.test.ts`.
 */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { GovError } from '../../contract/problems.ts';
import { Organizations } from './tenants/organization-life.ts';
import { checkConfig } from './decided/config.ts';
import { checkCosignatures, checkStrayCosignatures } from './log/cosignatures.ts';
import { checkHeads, checkSigned } from './log/heads.ts';
import { checkAuditLog, checkMeteringLog } from './log/records.ts';
import { checkRuns } from './log/runs.ts';
import { checkTelemetry } from './tenants/planes.ts';
import { checkOrganizations } from './tenants/rows.ts';
import type { Connection } from '../file/connection.ts';
import { opening, troubleOf } from '../file/faults.ts';
import { openHeads, type NamedHead } from '../file/heads.ts';
import { migrate, schemaVersion } from '../file/migrate.ts';
import { storeFiles } from '../file/paths.ts';
import { connectReader } from '../file/reader.ts';
import { mainMigrations } from '../file/schema/tables.ts';
import { sealWith } from '../file/body-seal.ts';
import { readSubjects } from '../file/subjects.ts';
import type { FsckProblem, FsckReport, JudgeNote, JudgeReceipt, Check, CheckedProject } from './check.ts';

export interface FsckOptions {
  readonly dataDir: string;
  /** The master key that seals bodies. */
  readonly masterKey?: Uint8Array | undefined;
  /** Keys of subjects that are not in a file next to the log. The caller closes it. */
  readonly subjects?: Connection;
  /** Also checks every disclosure, every metering reference, and the file's own structure. */
  readonly deep?: boolean;
  readonly onProgress?: (progress: { readonly done: number; readonly of: number }) => void;
  /**
   * Returns the fault of a checkpoint note's signature for an origin, or null. Used only if `deep`.
   * `inForce`: the signing keys according to the leaves below the checkpoint; null if the log does not name
   * them.
   */
  readonly judgeNote?: JudgeNote;
  /** Judges the service's cosignatures for data planes. Used only if `deep`. */
  readonly judgeReceipt?: JudgeReceipt;
  /** Signed heads that are not in a file next to the log. */
  readonly signed?: readonly NamedHead[];
  /** For an installation that is checked in parts. The caller compares the organizations at the end. */
  readonly organizations?: Organizations;
}

const keptProblems = 1000;

/** Throws NOT_FOUND if there is no database, and STORAGE_FAULT or CONFLICT if it cannot be opened. */
export async function fsckStore(options: FsckOptions): Promise<FsckReport> {
  const { dataDir, deep = false, onProgress, judgeNote, judgeReceipt } = options;
  const files = storeFiles(dataDir);
  for (const path of [files.main, files.heads]) {
    if (!existsSync(path)) throw new GovError('NOT_FOUND', `expected a database at ${path}, got none`);
  }
  const db = connectReader(files.main);
  const own = options.subjects === undefined ? readSubjects(files.subjects) : null;
  sealWith(db, options.masterKey, options.subjects ?? own);
  const problems: FsckProblem[] = [];
  const counts = { found: 0, leaves: 0, checkpoints: 0, unopened: 0 };
  try {
    const projects = opening(files.main, () => checkedProjects(db));
    const of = projects.reduce((sum, { auditSize, meteringSize }) => sum + auditSize + meteringSize, 0);
    const check: Check = {
      db,
      deep,
      judgeNote,
      judgeReceipt,
      keys: new Map(),
      organizations: options.organizations ?? new Organizations(),
      problem: (position, kind, { expected, got }) => {
        counts.found += 1;
        if (problems.length < keptProblems) problems.push({ position, kind, expected, got });
      },
      read: async (leaves) => {
        counts.leaves += leaves;
        onProgress?.({ done: counts.leaves, of });
        await new Promise<void>((resolve) => setImmediate(resolve));
      },
      checkpoint: () => {
        counts.checkpoints += 1;
      },
      unopened: () => {
        counts.unopened += 1;
      },
    };
    await readable(check, 'gov.db', () => checkSchema(check));
    if (deep) await readable(check, 'gov.db', () => checkFile(check));
    for (const project of projects) {
      const { projectId } = project;
      await readable(check, `${projectId}/audit`, () => checkAuditLog(check, project));
      await readable(check, `${projectId}/metering`, () => checkMeteringLog(check, project));
      await readable(check, `${projectId}/cosignature`, () => checkCosignatures(check, project));
      await readable(check, `${projectId}/run`, () => checkRuns(check, project));
      await readable(check, `${projectId}/risk_config`, () => checkConfig(check, project));
      await readable(check, `${projectId}/data_plane`, () => checkTelemetry(check, project));
    }
    await readable(check, 'cosignature', () => checkStrayCosignatures(check));
    if (options.organizations === undefined) checkOrganizations(check, check.organizations);
    await readable(check, 'heads', async () => {
      const heads = opening(files.heads, () => openHeads(files.heads, { readonly: true }));
      try {
        await checkHeads(check, heads);
        checkSigned(check, options.signed ?? []);
      } finally {
        heads.close();
      }
    });
    return { ok: counts.found === 0, problems, projects: projects.length, deep, ...counts };
  } finally {
    db.close();
    own?.close();
  }
}

/** Runs one part. Unreadable pages of the file become a problem, and the next parts still run. */
async function readable(check: Check, position: string, part: () => void | Promise<void>): Promise<void> {
  try {
    await part();
  } catch (error) {
    if (troubleOf(error) !== 'fault' && !(error instanceof GovError)) throw error;
    const got = error instanceof Error ? error.message : String(error);
    check.problem(position, 'file_corrupt', { expected: 'pages that can be read', got });
  }
}

function checkedProjects(db: Connection): CheckedProject[] {
  return db
    .prepare<[], CheckedProject>(
      `SELECT project.project AS no, project_id AS projectId, organization_id AS organizationId, environment,
         audit_origin AS auditOrigin, metering_origin AS meteringOrigin, a.size AS auditSize, m.size AS meteringSize
       FROM project
       JOIN head a ON a.project = project.project AND a.tree = 0
       JOIN head m ON m.project = project.project AND m.tree = 1
       ORDER BY project.project`,
    )
    .all();
}

/** Tables, indexes and the triggers that keep rows from being changed, against those that this release makes. */
function checkSchema({ db, problem }: Check): void {
  const fresh = new Database(':memory:');
  try {
    migrate(fresh, mainMigrations.slice(0, schemaVersion(db)));
    const [expected, found] = [schemaOf(fresh), schemaOf(db)];
    for (const [name, sql] of expected) {
      const got = found.get(name) ?? 'none';
      if (got !== sql) problem(`gov.db/${name}`, 'schema_altered', { expected: sql, got });
    }
    for (const [name, got] of found) {
      if (!expected.has(name)) problem(`gov.db/${name}`, 'schema_altered', { expected: 'none', got });
    }
  } finally {
    fresh.close();
  }
}

/** `table leaf` → its SQL. Indexes that SQLite makes by itself have none, and its own tables are not ours. */
const schemaOf = (db: Connection): Map<string, string> =>
  new Map(
    db
      .prepare<[], { name: string; sql: string }>(
        `SELECT type || ' ' || name AS name, sql FROM sqlite_schema
         WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`,
      )
      .all()
      .map(({ name, sql }) => [name, sql]),
  );

/** SQLite's own check of pages and indexes. It does not detect altered contents of rows. */
function checkFile(check: Check): void {
  for (const row of check.db.pragma('integrity_check(100)') as { integrity_check: string }[]) {
    if (row.integrity_check === 'ok') continue;
    check.problem('gov.db', 'file_corrupt', { expected: 'ok', got: row.integrity_check });
  }
}

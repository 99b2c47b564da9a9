/**
 * The PostgreSQL engine of the store port: any number of processes share one database. A process is stateless
 * except for caches. A writer to a project holds the lock on its heads. Row-level security guards every
 * statement. `src/store/postgres/schema/migrate.ts` creates the tables.
 * Source: the guarantees in `src/store/port/store.ts`; PostgreSQL 18, chapter 5.9 (row security policies).
 * Proven by `test/store/postgres/suite.alone.test.ts` (the store suite) and the tests in
 * `test/store/postgres`.
 */
import { GovError } from '../../contract/problems.ts';
import type { Store, StoreReader } from '../port/store.ts';
import { RandomPool } from '../append/random.ts';
import type { AckedHeads } from '../acked/heads.ts';
import type { OnLoss } from '../acked/losses.ts';
import type { SignedHeads } from '../file/signed-heads.ts';
import { approvalReads } from '../read/approvals.ts';
import { AcknowledgedHeads } from './write/acknowledged.ts';
import { checkpointSaver, cosignatureSaver } from './write/checkpoints.ts';
import { Committer } from './write/commit.ts';
import { Condition } from './connection/condition.ts';
import { tryConnection } from './connection/session.ts';
import { Database, type DatabaseOptions } from './connection/database.ts';
import { problemOf, type Faults } from './connection/faults.ts';
import { exportChunks, type ExportChunks } from './effects/export-chunks.ts';
import { exportMoves } from './effects/exports.ts';
import { documentReads } from '../read/documents.ts';
import { documentSaver } from '../append/documents.ts';
import { documentClaims } from './effects/documents.ts';
import { eventTermReads } from '../read/event-terms.ts';
import { eventTermWrites } from './effects/event-terms.ts';
import { exportReads } from '../read/exports.ts';
import { jobMoves } from './effects/jobs.ts';
import { intakeReads } from '../read/intake.ts';
import { jobReads } from '../read/jobs.ts';
import { indexMapReads } from '../read/index-map.ts';
import { indexMapWrites } from './effects/index-map.ts';
import { meterReads } from './read/meter.ts';
import { policyReads } from '../read/policies.ts';
import { decidedReads } from './read/decided.ts';
import { eventReads } from './read/events.ts';
import { leafReads, projectNumbers, type ProjectNumber } from './read/leaves.ts';
import { RememberedHeads } from './connection/remembered.ts';
import { runReads } from './read/runs.ts';
import { leafFigureReads } from './read/leaf-figures.ts';
import { tenantMaker } from './effects/make-tenant.ts';
import { newestVersion } from './schema/tables.ts';
import { claimMasterKey, tasks } from './effects/tasks.ts';
import { WriteQueue } from './write/queue.ts';
import { watch } from './connection/watch.ts';
import { sql, step } from '../read/queries.ts';
import { telemetryReads } from '../read/planes.ts';
import { tenantReads } from '../read/tenants.ts';
import { queriesOf } from './read/queries.ts';
import { usageReads } from './read/usage.ts';
import { workReads } from '../read/work.ts';

export type { Faults } from './connection/faults.ts';
export type { DatabaseOptions } from './connection/database.ts';
export { inspectDatabase } from './connection/inspect.ts';
export { inspectHeads } from './connection/remembered.ts';
export type { ExportChunks } from './effects/export-chunks.ts';
export { migrate, type MigrationResult, type MigrateOptions } from './schema/migrate.ts';
export { newestVersion } from './schema/tables.ts';
export { fsckPostgres } from './write/fsck.ts';

export interface PostgresOptions extends DatabaseOptions {
  readonly clock: { now(): number };
  /** Cryptographic randomness for event ids, nonces and leases. */
  readonly randomBytes: (size: number) => Buffer;
  readonly faults?: Faults | undefined;
  /** The signed heads that this process's data directory remembers; the store closes them. Absent: none. */
  readonly heads?: SignedHeads | null;
  /** The acknowledged heads that this process's data directory remembers; the store closes them. Absent: none. */
  readonly acked?: AckedHeads | null;
  /** What to do about acknowledged leaves that the database lacks. Default: `record`. */
  readonly onLoss?: OnLoss;
  /** Receives problems that an operator should know about but that do not stop the start. */
  readonly onWarning?: (text: string) => void;
}

export interface PostgresStore extends Store {
  /** Commits a record that changes nothing. Rejects if a write now would not be durable. */
  probe(): Promise<void>;
  /**
   * Compares the clock of the database with `now`, immediately and every minute. While they differ by more
   * than five seconds, `condition` has a reason `clock_skew: …`. Never rejects.
   */
  watchClock(now: () => number): Promise<void>;
  /**
   * Stores the check value of the first process's master key. Returns the stored value, or null if no process
   * had a master key yet.
   */
  claimMasterKey(check: string | null): Promise<string | null>;
  /** Artifacts of exports. */
  readonly chunks: ExportChunks;
  /** Records that a reader in another thread found an altered leaf of the project, if `error` says so. */
  note(error: unknown, projectId: string): void;
}

/**
 * Opens the store. Throws STORAGE_FAULT if the database is unreachable, does not keep a setting, or lacks the
 * newest signed head. Throws CONFLICT if the tables are of another release or row-level security does not
 * bind the role.
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresStore> {
  const database = new Database(options);
  try {
    await tryConnection({ url: options.url, waitMs: options.waitMs ?? 10_000 });
    await assertVersion(database);
    if (options.heads) await new RememberedHeads(database, options.heads).judgeNewest();
    return assemble(database, options);
  } catch (error) {
    await database.close();
    await options.heads?.close();
    options.acked?.close();
    throw problemOf(error, 'read');
  }
}

/**
 * Opens the reading half for worker threads of a process whose store is open. That store checked the version
 * of the tables; a later migration does not stop these reads. Connects at the first read.
 */
export function openPostgresReader(options: DatabaseOptions): StoreReader & { close(): Promise<void> } {
  const database = new Database(options);
  const condition = new Condition(database, { warn: () => {}, now: () => 0 });
  return {
    ...watched(reads(database, projectNumbers(database).of), condition, () => {}),
    close: () => {
      condition.close();
      return database.close();
    },
  };
}

const version = sql<{ version: number }>('SELECT version FROM version');

async function assertVersion(database: Database): Promise<void> {
  const [{ rows }] = await database.read({ project: 0 }, [step(version)]);
  const found = rows[0]?.version ?? 0;
  if (found === newestVersion) return;
  const advice = found < newestVersion ? 'run gov service migrate' : 'use a newer release of gov';
  throw new GovError('CONFLICT', `expected database version ${newestVersion}, got ${found}; ${advice}`);
}

function assemble(
  database: Database,
  { clock, randomBytes, faults, onWarning, heads = null, acked = null, onLoss = 'record' }: PostgresOptions,
): PostgresStore {
  const random = new RandomPool(randomBytes);
  const warn = (text: string): void => onWarning?.(text);
  const record = (projectId: string): void => {
    // if it fails, the next append records the loss
    queue.append({ projectId, leaves: [] }).catch(() => {});
  };
  const acknowledged =
    acked === null ? undefined : new AcknowledgedHeads(database, { acked, onLoss, found: record });
  const remembered =
    heads === null
      ? null
      : new RememberedHeads(database, heads, { warn, acknowledged: acknowledged ?? null });
  const numbers = projectNumbers(database, async (project) => remembered?.judgeFirst(project));
  const numberOf = numbers.of;
  const committer = new Committer({ database, numberOf, clock, random, faults, acknowledged });
  // after a lost connection another server may answer
  database.onLost = () => numbers.forget();
  const condition = new Condition(database, { warn, now: () => clock.now() });
  const queue = new WriteQueue(async (projectId, requests) =>
    condition.watch(async () => committer.commit(projectId, requests), projectId),
  );
  const writes: Writes = {
    ...tenantMaker({ database, numberOf, clock, random }),
    ...tasks(database, numberOf, () => clock.now()),
    ...jobMoves(database, numberOf, () => random.bytes(16).toString('base64url')),
    ...exportMoves(database, numberOf),
    ...documentClaims(database),
    ...eventTermWrites(database, numberOf),
    saveDocuments: documentSaver((request) => queue.append(request)),
    ...indexMapWrites(database, numberOf),
    saveCheckpoint: checkpointSaver(database, { numbers, heads, remembered }),
    saveCosignatures: cosignatureSaver(database, numbers),
    ...watch(database),
  };
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await queue.close();
    condition.close();
    await database.close();
    await heads?.close();
    acked?.close();
  };
  return {
    ...watched(reads(database, numberOf), condition, () => {}),
    ...watched(writes, condition, () => queue.refuseClosed()),
    chunks: watched(exportChunks(database, numberOf), condition, () => {}),
    append: (request) => queue.append(request),
    condition: () => {
      const { writable, reasons, altered } = condition.current;
      return {
        writable,
        reasons: [...reasons, ...(remembered?.reasons ?? [])],
        queued: queue.queued,
        altered,
      };
    },
    probe: async () => {
      await condition.probe();
      await remembered?.judgeRefused();
    },
    claimMasterKey: async (check) => condition.watch(async () => claimMasterKey(database, check)),
    watchClock: (now) => condition.clock.watch(now),
    note: (error, projectId) => condition.note(error, projectId),
    close: () => (closing ??= close()),
  };
}

type Writes = Omit<Store, keyof StoreReader | 'append' | 'condition' | 'close'>;

function reads(database: Database, numberOf: ProjectNumber): StoreReader {
  const queries = queriesOf(database, numberOf);
  const events = eventReads(database, numberOf);
  return {
    ...leafReads(database, numberOf),
    ...meterReads(database, numberOf),
    ...events,
    ...leafFigureReads(database, numberOf, events.runEventsBelow),
    ...runReads(database, queries),
    ...workReads(queries),
    ...decidedReads(database, numberOf),
    ...policyReads(queries),
    ...approvalReads(queries),
    ...jobReads(queries),
    ...intakeReads(queries),
    ...tenantReads(queries),
    ...usageReads(database, numberOf),
    ...telemetryReads(queries),
    ...documentReads(queries),
    ...eventTermReads(queries),
    ...exportReads(queries),
    ...indexMapReads(queries),
  };
}

/** The same verbs; errors become problems, and `condition` records them. */
function watched<Verbs extends object>(verbs: Verbs, condition: Condition, enter: () => void): Verbs {
  const watch =
    (verb: (...values: unknown[]) => unknown) =>
    (...values: unknown[]): unknown => {
      const answer = async (): Promise<unknown> => {
        enter();
        // only verbs whose first argument is a project read leaves
        return condition.watch(async () => verb(...values), String(values[0]));
      };
      return verb.constructor.name === 'AsyncGeneratorFunction' ? verb(...values) : answer();
    };
  // The same names with functions of the same types: `watch` preserves both.
  return Object.fromEntries(
    Object.entries(verbs).map(([name, verb]) => [name, watch(verb as () => unknown)]),
  ) as Verbs;
}

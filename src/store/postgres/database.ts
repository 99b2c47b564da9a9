/**
 * Connections to one database. Each has the settings that durability and tenancy rest on, set *and read back*,
 * and works under a role that row-level security binds. Whatever is done is done in a transaction for one scope,
 * mostly one tenant: `SET LOCAL`, so that nothing of it stays on the connection.
 * Proven by `test/store/postgres/database.test.ts`.
 */
import { Pool, type Client } from 'pg';
import { GovError } from '../../contract/problems.ts';
import { problemOf, troubleOf } from './faults.ts';
import { pipeline, sql, step, type Result, type Results, type Step } from './wire.ts';

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database?sslmode=…`, as libpq reads it. */
  readonly url: string;
  /** At most this many connections. */
  readonly connections?: number;
}

/** Whose rows a transaction sees; policies of the tables read it (`security.ts`). */
export type Scope =
  | { readonly project: number }
  /** The row of the project alone, to find its number. */
  | { readonly projectId: string }
  /** The one key with this digest: the credential names its tenant. */
  | { readonly digest: Uint8Array }
  /** Jobs of all projects, kept answers past their time: what belongs to no caller. */
  | { readonly duty: 'jobs' | 'sweep' | 'check' };

/** A transaction that is open. */
export interface Transaction {
  /** Number of the server process. */
  readonly backend: number;
  run<const Steps extends readonly Step[]>(steps: Steps): Promise<Results<Steps>>;
  /** Runs the last steps and COMMIT in one round trip. Nothing is stored where one of them fails. */
  commit<const Steps extends readonly Step[]>(steps: Steps): Promise<Results<Steps>>;
}

const waitMs = 10_000;

/** What the server is told at the start of a connection, and must answer when asked. */
const settings: Readonly<Record<string, string>> = {
  synchronous_commit: 'on', // COMMIT returns after the log is on the disk, here and on a synchronous standby
  row_security: 'on',
  search_path: 'gov',
  default_transaction_isolation: 'read committed',
  idle_in_transaction_session_timeout: '30s',
  lock_timeout: '10s',
  client_encoding: 'UTF8',
  standard_conforming_strings: 'on',
  jit: 'off',
  // Every statement goes by a key or an index that leads with the tenant. Plans are made once, and statistics
  // that lag behind a bulk load cannot turn one into a scan.
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};

export class Database {
  private readonly pool: Pool;
  private closing: Promise<void> | undefined;

  constructor({ url, connections = 8 }: DatabaseOptions) {
    const options = Object.entries(settings).map(
      ([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`,
    );
    this.pool = new Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: waitMs,
      options: options.join(' '),
      application_name: 'gov',
      keepAlive: true,
      onConnect: async (client) => {
        client.on('error', ignore); // what runs on it is told; an idle one leaves the pool
        await verify(client as Client);
      },
    });
    this.pool.on('error', ignore);
  }

  /** Connects once, so that a start fails where nothing could be served. */
  async open(): Promise<void> {
    await this.use(async () => {});
  }

  /** Statements in one round trip and one transaction, each of its own moment; what they read is not changed. */
  async read<const Steps extends readonly Step[]>(scope: Scope, steps: Steps): Promise<Results<Steps>> {
    const all = [scoped(scope), ...steps];
    const ask = async () => this.use(async (client) => dropFirst<Steps>(await pipeline(client, all)));
    try {
      return await ask();
    } catch (error) {
      if (troubleOf(error) !== 'lost') throw problemOf(error);
      return await ask().catch((again: unknown) => {
        throw problemOf(again);
      });
    }
  }

  /** The same in one moment (`REPEATABLE READ`). */
  async readAtOnce<const Steps extends readonly Step[]>(scope: Scope, steps: Steps): Promise<Results<Steps>> {
    return this.use(async (client) => {
      try {
        const all = [step(beginMoment), scoped(scope), ...steps, step(commit)];
        return dropFirst<Steps>((await pipeline(client, all)).slice(1, -1));
      } catch (error) {
        await pipeline(client, [step(rollback)]).catch(ignore);
        throw error;
      }
    });
  }

  /** Writes in one round trip and one transaction. Rejects with what the server said. */
  async write<const Steps extends readonly Step[]>(scope: Scope, steps: Steps): Promise<Results<Steps>> {
    return this.use(async (client) => dropFirst<Steps>(await pipeline(client, [scoped(scope), ...steps])));
  }

  /** A transaction of several round trips; rolled back unless it was committed. */
  async transaction<Value>(scope: Scope, body: (transaction: Transaction) => Promise<Value>): Promise<Value> {
    return this.use(async (client) => {
      let opening: Step[] = [step(begin), scoped(scope)];
      const send = async (steps: readonly Step[]): Promise<Result[]> => {
        const before = opening;
        opening = [];
        return (await pipeline(client, [...before, ...steps])).slice(before.length);
      };
      let open = true;
      try {
        return await body({
          backend: (client as unknown as { processID: number }).processID,
          // each row is read by the columns of its own statement
          run: async (steps) => (await send(steps)) as never,
          commit: async (steps) => {
            const results = await send([...steps, step(commit)]);
            open = false;
            return results.slice(0, -1) as never;
          },
        });
      } finally {
        if (open && opening.length === 0) await pipeline(client, [step(rollback)]).catch(ignore);
      }
    });
  }

  /** A moment of the database, read in as many steps as wanted. */
  async moment<Value>(
    scope: Scope,
    body: (
      run: <const Steps extends readonly Step[]>(steps: Steps) => Promise<Results<Steps>>,
    ) => Promise<Value>,
  ): Promise<Value> {
    return this.use(async (client) => {
      await pipeline(client, [step(beginMoment), scoped(scope)]);
      try {
        return await body((steps) => pipeline(client, steps));
      } finally {
        await pipeline(client, [step(rollback)]).catch(ignore);
      }
    });
  }

  async close(): Promise<void> {
    await (this.closing ??= this.pool.end());
  }

  /** A connection that broke is not used again. */
  private async use<Value>(body: (client: Client) => Promise<Value>): Promise<Value> {
    const client = await this.pool.connect();
    let broken = false;
    try {
      return await body(client as unknown as Client);
    } catch (error) {
      broken = troubleOf(error) === 'lost';
      throw error;
    } finally {
      client.release(broken);
    }
  }
}

const ignore = (): void => {};
const begin = sql('BEGIN');
const beginMoment = sql('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
const commit = sql('COMMIT');
const rollback = sql('ROLLBACK');

const dropFirst = <Steps extends readonly Step[]>(results: readonly Result[]): Results<Steps> =>
  results.slice(1) as never; // the others are those of the steps

const setProject = sql("SELECT set_config('gov.project', $1, true)");
const setProjectId = sql("SELECT set_config('gov.project_id', $1, true)");
const setDigest = sql("SELECT set_config('gov.digest', $1, true)");
const setDuty = sql("SELECT set_config('gov.duty', $1, true)");

/** SET LOCAL of what the policies compare with. */
export function scoped(scope: Scope): Step {
  if ('project' in scope) return step(setProject, scope.project);
  if ('projectId' in scope) return step(setProjectId, scope.projectId);
  if ('digest' in scope) return step(setDigest, Buffer.from(scope.digest).toString('hex'));
  return step(setDuty, scope.duty);
}

interface Served {
  readonly role: string;
  readonly free: boolean;
  readonly owner: boolean | null;
  readonly fsync: string;
}

/** Reads back what a connection rests on. STORAGE_FAULT where a setting does not hold; CONFLICT for its role. */
async function verify(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string; setting: string; unit: string | null }>(
    'SELECT name, current_setting(name) AS setting, unit FROM pg_settings WHERE name = ANY($1)',
    [Object.keys(settings)],
  );
  const found = new Map(rows.map(({ name, setting }) => [name, setting]));
  for (const [name, value] of Object.entries(settings)) {
    if (found.get(name) !== value) refuse(`setting ${name} = ${value}`, String(found.get(name)));
  }
  const { rows: roles } = await client.query<Served>(
    `SELECT current_user AS role, current_setting('fsync') AS fsync, rolsuper OR rolbypassrls AS free,
       (SELECT pg_has_role(nspowner, 'MEMBER') FROM pg_namespace WHERE nspname = 'gov') AS owner
     FROM pg_roles WHERE rolname = current_user`,
  );
  const served = roles[0];
  if (served?.fsync !== 'on') refuse('fsync = on', String(served?.fsync));
  if (served?.owner === null) refuse('tables of gov', 'none; run gov service migrate first');
  if (served?.free === true || served?.owner === true) {
    throw new GovError(
      'CONFLICT',
      `expected an ordinary role that row-level security binds, got ${served.role}, which is ` +
        `${served.free ? 'a superuser or bypasses it' : 'the owner of the tables'}; serve as the role that ` +
        'gov service migrate grants to',
    );
  }
}

function refuse(expected: string, got: string): never {
  throw new GovError('STORAGE_FAULT', `PostgreSQL: expected ${expected}, got ${got}; refusing to serve`);
}

/**
 * Connections to one database. Each has the settings that durability and tenancy rest on, set *and read back*,
 * and works under a role that row-level security binds. Whatever is done is done in a transaction for one scope,
 * mostly one tenant: `SET LOCAL`, so that nothing of it stays on the connection.
 * Proven by `test/store/postgres/connection/database.test.ts`.
 */
import { Pool, type Client, type PoolClient } from 'pg';
import { GovError } from '../../../contract/problems.ts';
import { createBodySeal, unsealed, type BodySeal } from '../../erasure/body-seal.ts';
import { startupOptions, verify } from './session.ts';
import { problemOf, troubleOf } from './faults.ts';
import { pipeline, sql, step, type Result, type Results, type Step } from './wire.ts';

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database?sslmode=…`, as libpq reads it. */
  readonly url: string;
  /** At most this many connections. */
  readonly connections?: number;
  /** How long a verb waits for one of them, or for a new one. */
  readonly waitMs?: number;
  /** That bodies are sealed with. */
  readonly masterKey?: Uint8Array | undefined;
}

/** Whose rows a transaction sees; policies of the tables read it (`src/store/postgres/schema/rules.ts`). */
export type Scope =
  | { readonly project: number }
  /** The row of the project alone, to find its number. */
  | { readonly projectId: string }
  /** An organization with its people, sessions and projects; nothing of what is in the projects. */
  | { readonly organizationId: string }
  /** The one person whom an issuer calls so. */
  | { readonly issuer: string; readonly subject: string }
  /** The one key or session with this digest, or the data plane with this key: the credential names its tenant. */
  | { readonly digest: Uint8Array }
  /** The one data plane with this verifier key, the one report with this challenge. */
  | { readonly lookup: string }
  /** Jobs of all projects, kept answers past their time, sizes of logs: what belongs to no caller. */
  | { readonly duty: 'jobs' | 'sweep' | 'check' | 'watch' | 'installation' | 'operator' };

/** A transaction that is open. */
export interface Transaction {
  /** Number of the server process. */
  readonly backend: number;
  run<const Steps extends readonly Step[]>(steps: Steps): Promise<Results<Steps>>;
  /** Runs the last steps and COMMIT in one round trip. Nothing is stored where one of them fails. */
  commit<const Steps extends readonly Step[]>(steps: Steps): Promise<Results<Steps>>;
}

export class Database {
  /** Called where a connection ended that nobody here ended. */
  onLost: () => void = () => {};
  /** Of bodies. */
  readonly seal: BodySeal;
  private readonly pool: Pool;
  private closing: Promise<void> | undefined;

  constructor({ url, connections = 8, waitMs = 10_000, masterKey }: DatabaseOptions) {
    this.seal = masterKey === undefined ? unsealed : createBodySeal(masterKey);
    this.pool = new Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: waitMs,
      options: startupOptions,
      application_name: 'gov',
      keepAlive: true,
      onConnect: async (client) => {
        client.on('error', () => this.onLost()); // what runs on it is told; an idle one leaves the pool
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

  private async connection(): Promise<PoolClient> {
    try {
      return await this.pool.connect();
    } catch (error) {
      const { idleCount, totalCount, options } = this.pool;
      if (idleCount > 0 || totalCount < options.max || !isTimeout(error)) throw error;
      const problem = `expected one of ${options.max} connections to be free in time, got none`;
      throw new GovError('OVERLOADED', problem, { cause: error, retryAfterSeconds: 1 });
    }
  }

  /** A connection that broke is not used again. */
  private async use<Value>(body: (client: Client) => Promise<Value>): Promise<Value> {
    const client = await this.connection();
    let broken = false;
    try {
      return await body(client as unknown as Client);
    } catch (error) {
      broken = troubleOf(error) === 'lost';
      if (broken) this.onLost();
      throw error;
    } finally {
      client.release(broken);
    }
  }
}

const ignore = (): void => {};
const isTimeout = (error: unknown): boolean => error instanceof Error && error.message.includes('timeout');
const begin = sql('BEGIN');
const beginMoment = sql('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
const commit = sql('COMMIT');
const rollback = sql('ROLLBACK');

const dropFirst = <Steps extends readonly Step[]>(results: readonly Result[]): Results<Steps> =>
  results.slice(1) as never; // the others are those of the steps

const setProject = sql("SELECT set_config('gov.project', $1, true)");
const setProjectId = sql("SELECT set_config('gov.project_id', $1, true)");
const setOrganization = sql("SELECT set_config('gov.organization', $1, true)");
const setPerson = sql("SELECT set_config('gov.issuer', $1, true), set_config('gov.subject', $2, true)");
const setDigest = sql("SELECT set_config('gov.digest', $1, true)");
const setLookup = sql("SELECT set_config('gov.lookup', $1, true)");
const setDuty = sql("SELECT set_config('gov.duty', $1, true)");

/** SET LOCAL of what the policies compare with; adds to what the transaction sees already. */
export function scoped(scope: Scope): Step {
  if ('project' in scope) return step(setProject, scope.project);
  if ('projectId' in scope) return step(setProjectId, scope.projectId);
  if ('organizationId' in scope) return step(setOrganization, scope.organizationId);
  if ('issuer' in scope) return step(setPerson, scope.issuer, scope.subject);
  if ('lookup' in scope) return step(setLookup, scope.lookup);
  if ('digest' in scope) return step(setDigest, Buffer.from(scope.digest).toString('hex'));
  return step(setDuty, scope.duty);
}

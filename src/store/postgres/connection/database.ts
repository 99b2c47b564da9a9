/**
 * Connections to one database. Each one sets what durability and tenancy depend on, *and reads it back*. Each
 * works under a role that row-level security binds. All work runs in a transaction with one scope, usually
 * one tenant: `SET LOCAL`, so that no scope stays on the connection.
 * Source: PostgreSQL 18, chapters 5.9 (row security policies) and 19 (server configuration).
 * Proven by `test/store/postgres/connection/database.test.ts`.
 */
import { Pool, type Client, type PoolClient } from 'pg';
import { GovError } from '../../../contract/problems.ts';
import { createBodySeal, unsealed, type BodySeal } from '../../erasure/body-seal.ts';
import { startupOptions, verify } from './session.ts';
import { problemOf, troubleOf } from './faults.ts';
import { pipeline } from './wire.ts';
import { sql, step, type Result, type Results, type Scope, type Step } from '../../read/queries.ts';

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database?sslmode=…`, as libpq reads it. */
  readonly url: string;
  /** The largest number of connections. */
  readonly connections?: number;
  /** How long a verb waits for a free or a new connection. */
  readonly waitMs?: number;
  /** The key that seals bodies. */
  readonly masterKey?: Uint8Array | undefined;
}

/** An open transaction. */
export interface Transaction {
  /** The process id of the server's backend. */
  readonly backend: number;
  run<const Steps extends readonly Step[]>(steps: Steps): Promise<Results<Steps>>;
  /** Runs the last steps and COMMIT in one round trip. If one of them fails, nothing is stored. */
  commit<const Steps extends readonly Step[]>(steps: Steps): Promise<Results<Steps>>;
}

export class Database {
  /** Called when a connection ended without a request from this process. */
  onLost: () => void = () => {};
  /** Seals bodies. */
  readonly seal: BodySeal;
  readonly #pool: Pool;
  #closing: Promise<void> | undefined;

  constructor({ url, connections = 8, waitMs = 10_000, masterKey }: DatabaseOptions) {
    this.seal = masterKey === undefined ? unsealed : createBodySeal(masterKey);
    this.#pool = new Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: waitMs,
      options: startupOptions,
      application_name: 'gov',
      keepAlive: true,
      onConnect: async (client) => {
        client.on('error', () => this.onLost()); // the running statement reports the error; an idle connection leaves the pool
        await verify(client as Client);
      },
    });
    this.#pool.on('error', ignore);
  }

  /** Connects once, so that a start fails if the database is unreachable. */
  async open(): Promise<void> {
    await this.#use(async () => {});
  }

  /**
   * Runs statements in one round trip and one transaction, each with its own snapshot. Retries once after a
   * lost connection.
   */
  async read<const Steps extends readonly Step[]>(scope: Scope, steps: Steps): Promise<Results<Steps>> {
    const all = [scoped(scope), ...steps];
    const ask = async () => this.#use(async (client) => dropFirst<Steps>(await pipeline(client, all)));
    try {
      return await ask();
    } catch (error) {
      if (troubleOf(error) !== 'lost') throw problemOf(error, 'read');
      return await ask().catch(asRead);
    }
  }

  /** Runs statements in one snapshot (`REPEATABLE READ`). */
  async readAtOnce<const Steps extends readonly Step[]>(scope: Scope, steps: Steps): Promise<Results<Steps>> {
    const ask = this.#use(async (client) => {
      try {
        const all = [step(beginMoment), scoped(scope), ...steps, step(commit)];
        return dropFirst<Steps>((await pipeline(client, all)).slice(1, -1));
      } catch (error) {
        await pipeline(client, [step(rollback)]).catch(ignore);
        throw error;
      }
    });
    return ask.catch(asRead);
  }

  /** Writes in one round trip and one transaction. Rejects with the server's error. */
  async write<const Steps extends readonly Step[]>(scope: Scope, steps: Steps): Promise<Results<Steps>> {
    return this.#use(async (client) => dropFirst<Steps>(await pipeline(client, [scoped(scope), ...steps])));
  }

  /** Runs a transaction of several round trips and rolls it back unless `commit` ran. */
  async transaction<Value>(scope: Scope, body: (transaction: Transaction) => Promise<Value>): Promise<Value> {
    return this.#use(async (client) => {
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
          // the columns of each statement define the type of its rows
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

  /** Opens one snapshot of the database for any number of steps. */
  async moment<Value>(
    scope: Scope,
    body: (
      run: <const Steps extends readonly Step[]>(steps: Steps) => Promise<Results<Steps>>,
    ) => Promise<Value>,
  ): Promise<Value> {
    const read = this.#use(async (client) => {
      await pipeline(client, [step(beginMoment), scoped(scope)]);
      try {
        return await body((steps) => pipeline(client, steps));
      } finally {
        await pipeline(client, [step(rollback)]).catch(ignore);
      }
    });
    return read.catch(asRead);
  }

  async close(): Promise<void> {
    await (this.#closing ??= this.#pool.end());
  }

  async #connection(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      const { idleCount, totalCount, options } = this.#pool;
      if (idleCount > 0 || totalCount < options.max || !isTimeout(error)) throw error;
      const problem = `expected one of ${options.max} connections to become free in time, got none`;
      throw new GovError('OVERLOADED', problem, { cause: error, retryAfterSeconds: 1 });
    }
  }

  /** A broken connection leaves the pool. */
  async #use<Value>(body: (client: Client) => Promise<Value>): Promise<Value> {
    const client = await this.#connection();
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

const asRead = (error: unknown): never => {
  throw problemOf(error, 'read');
};
const ignore = (): void => {};
const isTimeout = (error: unknown): boolean => error instanceof Error && error.message.includes('timeout');
const begin = sql('BEGIN');
const beginMoment = sql('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
const commit = sql('COMMIT');
const rollback = sql('ROLLBACK');

const dropFirst = <Steps extends readonly Step[]>(results: readonly Result[]): Results<Steps> =>
  results.slice(1) as never; // the remaining results belong to the steps

const setProject = sql("SELECT set_config('gov.project', $1, true)");
const setProjectId = sql("SELECT set_config('gov.project_id', $1, true)");
const setOrganization = sql("SELECT set_config('gov.organization', $1, true)");
const setPerson = sql("SELECT set_config('gov.issuer', $1, true), set_config('gov.subject', $2, true)");
const setDigest = sql("SELECT set_config('gov.digest', $1, true)");
const setLookup = sql("SELECT set_config('gov.lookup', $1, true)");
const setDuty = sql("SELECT set_config('gov.duty', $1, true)");

/** Returns the SET LOCAL that the policies read; it adds to the transaction's earlier scopes. */
export function scoped(scope: Scope): Step {
  if ('project' in scope) return step(setProject, scope.project);
  if ('projectId' in scope) return step(setProjectId, scope.projectId);
  if ('organizationId' in scope) return step(setOrganization, scope.organizationId);
  if ('issuer' in scope) return step(setPerson, scope.issuer, scope.subject);
  if ('lookup' in scope) return step(setLookup, scope.lookup);
  if ('digest' in scope) return step(setDigest, Buffer.from(scope.digest).toString('hex'));
  return step(setDuty, scope.duty);
}

/** Tests that need a real PostgreSQL: skipped with the reason where there is none. */
import { it } from 'vitest';
import {
  openPostgres,
  type PostgresOptions,
  type PostgresStore,
} from '../../../../src/store/postgres/store.ts';
import type { Store } from '../../../../src/store/port/store.ts';
import { genesis, HandClock, projectOf, seededBytes } from '../../support/fixture.ts';
import type { Server, TestDatabase } from './server.ts';
import { runServer } from './shared.ts';

const found = await runServer();

/** Why there is no server, null where there is one: `describe.skipIf(missing !== null)`. */
export const missing = 'missing' in found ? found.missing : null;

/** The server that all test files share. */
export const server: Server = 'missing' in found ? absent(found.missing) : found;
if (missing !== null) it.skip(`PostgreSQL is missing: ${missing}`, () => {});

function absent(why: string): Server {
  const fail = (): never => {
    throw new Error(`expected PostgreSQL, got none: ${why}`);
  };
  return { url: '', database: fail, crash: null, standby: null, stop: async () => {} };
}

/** Engines on one database, each as in a process of its own; project `prj_a` exists. */
export class Processes {
  readonly database: TestDatabase;
  readonly clock = new HandClock();
  readonly #opened: Store[] = [];

  private constructor(database: TestDatabase) {
    this.database = database;
  }

  static async on(server: Server): Promise<Processes> {
    const processes = new Processes(await server.database());
    const store = await processes.start();
    await store.createProject(projectOf('a'), genesis('a'));
    return processes;
  }

  get first(): Store {
    return this.#opened[0]!;
  }

  async start(more: Partial<PostgresOptions> = {}): Promise<PostgresStore> {
    const randomBytes = seededBytes(`process ${this.#opened.length}`);
    const { serving: url } = this.database;
    const store = await openPostgres({ url, clock: this.clock, randomBytes, connections: 4, ...more });
    this.#opened.push(store);
    return store;
  }

  async drop(): Promise<void> {
    for (const store of this.#opened) await store.close();
    await this.database.drop();
  }
}

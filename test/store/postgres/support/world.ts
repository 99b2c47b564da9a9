/** An older copy of the database takes the place of the newest one, while processes use it. */
import { Client } from 'pg';
import { afterEach } from 'vitest';
import type { PostgresOptions, PostgresStore } from '../../../../src/store/postgres/store.ts';
import { openAcked } from '../../../../src/store/acked/heads.ts';
import { openSignedHeads } from '../../../../src/store/file/signed-heads.ts';
import { dropFolder, genesis, newFolder, projectOf } from '../../support/fixture.ts';
import { Processes, server } from './described.ts';

export const ended: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

async function asAdmin(...statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/** Ends every connection to a database and keeps new ones out. */
const shut = (name: string) => [
  `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`,
  `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
];

/** A database with projects `a` and `b`, the folder of a process, and copies of the database as it is. */
export class World {
  readonly dataDir = newFolder();
  readonly processes: Processes;

  private constructor(processes: Processes) {
    this.processes = processes;
  }

  static async make(): Promise<World> {
    const processes = await Processes.on(server);
    const world = new World(processes);
    ended.push(
      () => dropFolder(world.dataDir),
      () => processes.drop(),
    );
    await processes.first.createProject(projectOf('b'), genesis('b'));
    return world;
  }

  get name(): string {
    return nameOf(this.processes.database.serving);
  }

  /** A process that remembers in a folder. */
  async start(
    url = this.processes.database.serving,
    { dataDir = this.dataDir, ...more }: Partial<PostgresOptions> & { readonly dataDir?: string } = {},
  ): Promise<PostgresStore & { readonly warnings: string[] }> {
    const warnings: string[] = [];
    const heads = openSignedHeads(dataDir);
    const onWarning = (text: string): void => void warnings.push(text);
    const acked = openAcked(dataDir, onWarning);
    const store = await this.processes.start({ url, heads, acked, onWarning, ...more });
    ended.push(() => store.close());
    return { ...store, warnings };
  }

  /** Ends every connection to the database. */
  async cut(): Promise<void> {
    await asAdmin(...shut(this.name), `ALTER DATABASE ${this.name} ALLOW_CONNECTIONS true`);
  }

  /** Where a copy of the database is served. */
  async copy(name: string): Promise<string> {
    await asAdmin(
      ...shut(this.name),
      `CREATE DATABASE ${this.name}_${name} TEMPLATE ${this.name}`,
      `ALTER DATABASE ${this.name} ALLOW_CONNECTIONS true`,
    );
    const url = new URL(this.processes.database.serving);
    url.pathname = `/${this.name}_${name}`;
    ended.push(() => asAdmin(`DROP DATABASE ${this.name}_${name} WITH (FORCE)`));
    return url.href;
  }

  /** The database and its copy change places, under whatever is connected. */
  async swap(name: string): Promise<void> {
    const [own, copy] = [this.name, `${this.name}_${name}`];
    const rename = (from: string, to: string): string => `ALTER DATABASE ${from} RENAME TO ${to}`;
    await asAdmin(
      ...shut(own),
      rename(own, `${own}_swap`),
      rename(copy, own),
      rename(`${own}_swap`, copy),
      ...[own, copy].map((each) => `ALTER DATABASE ${each} ALLOW_CONNECTIONS true`),
    );
  }
}

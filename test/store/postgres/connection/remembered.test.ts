/** An older copy of the database is refused by whoever has seen it signed further. */
import { Client } from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../../src/store/port/store.ts';
import { openSignedHeads } from '../../../../src/store/file/signed-heads.ts';
import {
  appended,
  codeOf,
  dropFolder,
  event,
  genesis,
  newFolder,
  projectOf,
  request,
} from '../../support/fixture.ts';
import { missing, Processes, server } from '../support/described.ts';

const ended: (() => Promise<void> | void)[] = [];
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
class World {
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

  /** A process that remembers in the folder. */
  async start(url = this.processes.database.serving): Promise<Store & { readonly warnings: string[] }> {
    const warnings: string[] = [];
    const heads = openSignedHeads(this.dataDir);
    const onWarning = (text: string): void => void warnings.push(text);
    const store = await this.processes.start({ url, heads, onWarning });
    ended.push(() => store.close());
    return { ...store, warnings };
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

async function sign(store: Store, name = 'a', tree: 'audit' | 'metering' = 'audit'): Promise<string> {
  const projectId = `prj_${name}`;
  const project = await store.project(projectId);
  const origin = (tree === 'audit' ? project?.auditOrigin : project?.meteringOrigin) ?? '';
  const checkpoint = { origin, ...(await store.head(projectId, tree)), extensions: [] };
  return store.saveCheckpoint(projectId, tree, checkpoint, ({ size }) => `note of ${size}`);
}

const add = (store: Store, name = 'a') => appended(store, request([event()], { projectId: `prj_${name}` }));

describe.skipIf(missing !== null)('an older copy of the database', () => {
  it('the start refuses an older copy of the database that lacks the newest signed head', async () => {
    const world = await World.make();
    const store = await world.start();
    await add(store);
    const old = await world.copy('old');
    await add(store);
    await sign(store);
    await expect(world.start(old)).rejects.toMatchObject({
      code: 'STORAGE_FAULT',
      message: expect.stringMatching(
        /^log test\/a\/audit: expected a log of at least 3 leaves, as the signed head says, got 2 leaves; .* restore the newest copy, or, .* start once with gov service serve --rebuild-heads$/,
      ),
    });
    const rebuilt = openSignedHeads(world.dataDir, { rebuild: true });
    await (await world.processes.start({ url: old, heads: rebuilt })).close();
  });

  it('the start refuses a copy of the database without the log or with another history', async () => {
    const world = await World.make();
    const old = await world.copy('old');
    const store = await world.start();
    await add(store);
    await sign(store);
    const other = await world.processes.start({ url: old });
    ended.push(() => other.close());
    await appended(other, request([event({ actor: 'another' }), event()]));
    await expect(world.start(old)).rejects.toThrow(
      /expected root [0-9a-f]{64} at size 2, as the signed head says, got root/,
    );
    await store.createProject(projectOf('c'), genesis('c'));
    await sign(store, 'c');
    await expect(world.start(old)).rejects.toThrow(
      'log test/c/audit: expected a log of at least 1 leaves, as the signed head says, got no such log',
    );
  });

  it('an older copy refuses every use of the projects that lack records, and readiness says so', async () => {
    const world = await World.make();
    const store = await world.start();
    await add(store);
    const old = await world.copy('old');
    await add(store);
    await sign(store, 'a', 'metering');
    await sign(store, 'b');
    const behind = await world.start(old);
    expect(behind.condition().reasons).toEqual([]);
    for (const use of [
      () => behind.head('prj_a', 'audit'),
      () => add(behind),
      () => sign(behind),
      () => behind.newestCheckpoint('prj_a', 'metering'),
      () => behind.runs('prj_a', {}, { limit: 1 }),
    ]) {
      expect(await codeOf(use())).toBe('STORAGE_FAULT');
    }
    expect(behind.condition()).toMatchObject({
      writable: true,
      reasons: [expect.stringMatching(/^database_behind: the database lacks signed leaves of a log;/)],
    });
    expect(behind.warnings).toEqual([expect.stringMatching(/^database_behind: log test\/a\/metering\/0: /)]);
    await add(behind, 'b');
    expect(await sign(behind, 'b')).toBe('note of 2');
  });

  it('a running process detects an older copy before it stores, and recovers when the copy is gone', async () => {
    const world = await World.make();
    const store = await world.start();
    const probe = (store as unknown as { probe(): Promise<void> }).probe;
    await add(store);
    await world.copy('old');
    await add(store);
    await sign(store);
    await world.swap('old');
    await expect.poll(() => codeOf(store.head('prj_a', 'audit')).catch(() => 'served')).toBe('STORAGE_FAULT');
    expect(await codeOf(add(store))).toBe('STORAGE_FAULT');
    expect(store.condition().reasons.join()).toContain('database_behind');
    await world.swap('old');
    await expect.poll(() => probe().then(() => store.condition().reasons)).toEqual([]);
    expect(await add(store)).toMatchObject([{ index: 3 }]);
    expect(await sign(store)).toBe('note of 4');
  });
});

describe.skipIf(missing !== null)('the saved heads of the database', () => {
  it('a process accepts a log that other processes have signed further', async () => {
    const world = await World.make();
    const store = await world.start();
    await add(store);
    await sign(store);
    for (let round = 0; round < 300; round += 1) await add(world.processes.first);
    await sign(world.processes.first);
    const again = await world.start();
    expect(await sign(again)).toBe('note of 302');
    await add(store);
    expect(await sign(store)).toBe('note of 303');
    expect(again.condition().reasons).toEqual([]);
  });

  it('the head is saved before it is signed, so that a crash before the signature is harmless', async () => {
    const world = await World.make();
    const store = await world.start();
    await add(store);
    const head = await store.head('prj_a', 'audit');
    const crash = store.saveCheckpoint(
      'prj_a',
      'audit',
      { origin: 'test/a/audit', ...head, extensions: [] },
      () => {
        const seen = openSignedHeads(world.dataDir);
        expect(seen.newest()).toEqual({ origin: 'test/a/audit', ...head });
        void seen.close();
        throw new Error('crash before signing');
      },
    );
    await expect(crash).rejects.toThrow();
    expect(await sign(await world.start())).toBe('note of 2');
  });
});

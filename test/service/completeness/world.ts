/** A log with its index on each engine, without the service around it, and the next process on the same data. */
import { hashText } from '../../../src/core/hash.ts';
import { merkleRoot } from '../../../src/core/merkle/tree.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import type { IndexInput, TaskRunner } from '../../../src/service/call/work.ts';
import { Indexer } from '../../../src/service/indexes/lists.ts';
import { tasks } from '../../../src/service/tasks.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { openStore } from '../../../src/store/sqlite/store.ts';
import { missing, server } from '../../store/postgres/support/described.ts';
import {
  appended,
  dropFolder,
  event,
  genesis,
  HandClock,
  newFolder,
  projectOf,
  request,
  seededBytes,
} from '../../store/support/fixture.ts';
import { postgresBelow, sqliteBelow, type Below } from '../../support/below.ts';

export const projectId = 'prj_a';

/** What fails at steps of a write; `null` for none. A step that throws fails as the engine's disk or server does. */
type FailAt = (step: string) => void;

export interface World {
  store: Store;
  readonly below: Below;
  /** The next process on the same data: nothing of the map is in memory. */
  restart(failAt?: FailAt): Promise<void>;
  drop(): Promise<void>;
}

export const engines: Record<string, () => Promise<World>> = {
  sqlite: async () => {
    const dataDir = newFolder();
    const options = { dataDir, clock: new HandClock(), randomBytes: seededBytes('store'), reserveBytes: 0 };
    return worldOf(
      async (failAt) => openStore({ ...options, ...(failAt && { faults: { before: failAt } }) }),
      sqliteBelow(dataDir, projectId),
      async () => dropFolder(dataDir),
    );
  },
};
if (missing === null) {
  engines['postgres'] = async () => {
    const database = await server.database();
    const options = { url: database.serving, clock: new HandClock(), randomBytes: seededBytes('store') };
    const open = (failAt?: FailAt) =>
      openPostgres({ ...options, ...(failAt && { faults: { before: async (step) => failAt(step) } }) });
    return worldOf(open, postgresBelow(database.superuser, projectId), () => database.drop());
  };
}

async function worldOf(
  open: (failAt?: FailAt) => Promise<Store>,
  below: Below,
  drop: () => Promise<void>,
): Promise<World> {
  const first = await open();
  await first.createProject(projectOf('a'), genesis('a'));
  const world: World = {
    store: first,
    below,
    restart: async (failAt) => {
      await world.store.close();
      world.store = await open(failAt);
    },
    drop: async () => {
      await world.store.close();
      await drop();
    },
  };
  return world;
}

/** Runs tasks in this thread. */
const inPlace = (store: Store): TaskRunner => ({
  run: async (name, input, { host }) => {
    const context = { reader: store, host: host as never, breathe: async () => {} };
    return (await tasks[name](context, input as never)) as never;
  },
  close: async () => {},
});

export async function index(
  world: World,
  mode: IndexInput['mode'],
  lists: IndexInput['lists'] = [],
  size?: number,
) {
  const { store } = world;
  const indexer = new Indexer({ store, work: inPlace(store), log: silentLog, grew: () => {} });
  const signed = await store.head(projectId, 'audit');
  return indexer.index({ projectId, mode, signed, treeSize: size ?? signed.size, lists });
}

/** The run as the tables have it, which is what the layers of a proof say. */
export async function shown({ store }: World, runId: string): Promise<IndexInput['lists']> {
  const range = { fromSeq: 0, beforeIndex: 1e9, limit: 1000, bodies: false };
  const leaves = await store.runLeaves(projectId, runId, range);
  const root = hashText(merkleRoot(leaves.map(({ hash }) => hash)));
  return [{ key: ['run', runId], what: 'events', n: leaves.length, root }];
}

/** `size`: S of the proof, which may be older than the head. */
export const prove = async (world: World, runId = 'r1', size?: number) =>
  index(world, 'leaf', await shown(world, runId), size);

/** Two runs of five events each, and a saved map; then the next process. */
export async function filled(open: () => Promise<World>): Promise<World> {
  const world = await open();
  for (let at = 0; at < 5; at++) {
    await appended(world.store, request([event({ runId: 'r1' }), event({ runId: 'r2' })]));
  }
  await index(world, 'build');
  await world.restart();
  return world;
}

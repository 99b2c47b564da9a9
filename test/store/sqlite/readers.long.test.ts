/**
 * Whoever reads the files of a store, or holds them, keeps what was removed from going: until that ended nothing says that
 * it is gone, and afterwards it goes.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { fsckStore } from '../../../src/store/fsck/run.ts';
import { compactStore } from '../../../src/store/sqlite/upkeep/compact.ts';
import { type SqliteStore } from '../../../src/store/sqlite/store.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import {
  appended,
  codeOf,
  event,
  genesis,
  projectOf,
  request,
  seededBytes,
  stored,
} from '../support/fixture.ts';
import { allAbout, ending, erasing } from '../support/erasing.ts';
import { TestPlane } from '../support/plane.ts';

const masterKey = seededBytes('master')(32);
const ann = 'a1'.repeat(16);
const secret = 'what nobody may find in a file after the erasure';
const about = () => ({ ...event({ metadata: { secret } }), subjects: [ann] });

const planes: TestPlane[] = [];
const readers = new Set<Database.Database>();
afterEach(() => {
  for (const reader of readers) reader.close();
  readers.clear();
  for (const plane of planes.splice(0)) plane.drop();
});

/** A plane with events about Ann, and what its operator is told. */
async function recorded(more: { masterKey?: Uint8Array; thread?: boolean } = {}) {
  const plane = new TestPlane();
  planes.push(plane);
  const told: string[] = [];
  const open = (): SqliteStore => plane.open({ ...more, onWarning: (text) => told.push(text) });
  const store = open();
  await store.createProject(projectOf('a'), genesis('a'));
  await appended(store, request(Array.from({ length: 5 }, about)));
  return { plane, store, told, open };
}

/** Another program with a transaction on a file. */
function hold(path: string, begin = 'BEGIN; SELECT count(*) FROM sqlite_schema'): () => void {
  const reader = new Database(path);
  readers.add(reader);
  reader.exec(begin);
  return () => {
    readers.delete(reader);
    reader.close();
  };
}

const isDue = ({ dataDir }: TestPlane): boolean => existsSync(join(dataDir, 'rewrite.due'));
const eraseAll = async (store: SqliteStore) => stored(store, ending(ann, await allAbout(store, ann)));

function liveKeys({ dataDir }: TestPlane): Buffer[] {
  const db = new Database(storeFiles(dataDir).subjects, { readonly: true });
  try {
    const rows = db.prepare<[], Buffer>('SELECT secret FROM subject_key').pluck().all();
    return rows.filter((each) => !each.equals(Buffer.alloc(32)));
  } finally {
    db.close();
  }
}

const filesWith = ({ dataDir }: TestPlane, bytes: Buffer): string[] =>
  readdirSync(dataDir).filter((name) => readFileSync(join(dataDir, name)).includes(bytes));

describe('an open reader of the database', () => {
  it.each([false, true])(
    'a reader that is open at the stop leaves the removal of erased values to the next stop; thread: %s',
    async (thread) => {
      const { plane, store, told, open } = await recorded({ thread });
      await stored(store, erasing(await allAbout(store, ann)));
      const end = hold(storeFiles(plane.dataDir).main);
      await stored(store, request([event()]));
      await store.close();
      expect(told).toEqual([expect.stringContaining('a later stop removes them')]);
      expect(isDue(plane)).toBe(true);
      end();
      await open().close();
      expect([plane.holds(secret), isDue(plane), told.length]).toEqual([[], false, 1]);
      expect((await plane.fsck()).problems).toEqual([]);
    },
  );

  it('a reader of the database makes gov log compact refuse, and the rewrite stays due', async () => {
    const { plane, store } = await recorded();
    await stored(store, erasing(await allAbout(store, ann)));
    const end = hold(storeFiles(plane.dataDir).main);
    await store.close();
    const compact = () => codeOf(compactStore(plane.dataDir, () => {}));
    expect([await compact(), isDue(plane)]).toEqual(['CONFLICT', true]);
    end();
    expect([await compact(), isDue(plane), plane.holds(secret)]).toEqual(['none', false, []]);
  });

  it('the stop waits for a reader that ends soon', async () => {
    const { plane, store, told } = await recorded();
    await stored(store, erasing(await allAbout(store, ann)));
    const end = hold(storeFiles(plane.dataDir).main);
    const closed = store.close();
    setTimeout(end, 200);
    await closed;
    expect([plane.holds(secret), isDue(plane), told]).toEqual([[], false, []]);
  });
});

describe('an open reader of the key file', () => {
  /** A plane that was stopped while somebody read the key that an erasure destroyed. */
  async function stopped() {
    const made = await recorded({ masterKey });
    const [key] = liveKeys(made.plane);
    const release = hold(storeFiles(made.plane.dataDir).subjects);
    await eraseAll(made.store);
    await made.store.close();
    expect(made.told).toEqual([expect.stringContaining('the next start destroys them')]);
    expect(filesWith(made.plane, key!)).not.toEqual([]);
    return { ...made, key: key!, release };
  }

  it('a reader of the key file at the stop leaves the removal of destroyed keys to the next start', async () => {
    const { plane, open, key, release } = await stopped();
    const next = open();
    expect(filesWith(plane, key)).not.toEqual([]);
    release();
    await next.sweep(plane.clock.ms);
    expect(filesWith(plane, key)).toEqual([]);
    await next.close();
    expect(liveKeys(plane)).toEqual([]);
  });

  it('a reader of the key file makes gov log compact refuse until the reader ends', async () => {
    const { plane, key, release } = await stopped();
    const compact = () => codeOf(compactStore(plane.dataDir, () => {}));
    expect(await compact()).toBe('CONFLICT');
    release();
    expect([await compact(), filesWith(plane, key), liveKeys(plane)]).toEqual(['none', [], []]);
  });
});

describe('a lock on the key file', () => {
  it.each([false, true])(
    'an erasure is refused while another program locks the key file; thread: %s',
    async (thread) => {
      const { plane, store } = await recorded({ masterKey, thread });
      const release = hold(storeFiles(plane.dataDir).subjects, 'BEGIN IMMEDIATE');
      const { size } = await store.head('prj_a', 'audit');
      expect(await codeOf(eraseAll(store))).toBe('OVERLOADED');
      expect((await store.head('prj_a', 'audit')).size).toBe(size);
      expect((await store.leaf('prj_a', 1))!.disclosures).toContain(secret);
      release();
      await eraseAll(store);
      expect(liveKeys(plane)).toEqual([]);
      await store.close();
      const { problems } = await fsckStore({ dataDir: plane.dataDir, deep: true, masterKey });
      expect(problems).toEqual([]);
    },
  );
});

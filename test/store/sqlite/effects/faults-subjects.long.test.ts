/**
 * Every statement of an erasure that destroys a key, and of a commit that makes one, fails once; and the machine stops before
 * each of them once: afterwards all of it is there or nothing, the log never says of a key that is there that it is
 * destroyed, and no body that was not erased lost its key.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fsckStore } from '../../../../src/store/fsck/run.ts';
import type { Faults } from '../../../../src/store/file/faults.ts';
import type { SqliteStore } from '../../../../src/store/sqlite/store.ts';
import { storeFiles } from '../../../../src/store/file/paths.ts';
import { appended, event, genesis, projectOf, request, seededBytes } from '../../support/fixture.ts';
import { allAbout, ending } from '../../support/erasing.ts';
import { TestPlane } from '../../support/plane.ts';

const masterKey = seededBytes('master')(32);
const [ann, bob] = ['a1'.repeat(16), 'b2'.repeat(16)];
const value = 'of a subject';
const about = (...subjects: string[]) => ({ ...event({ metadata: { value } }), subjects });

const planes: TestPlane[] = [];
let original: TestPlane;
beforeAll(async () => {
  original = new TestPlane();
  const store = original.open({ masterKey });
  await store.createProject(projectOf('a'), genesis('a'));
  await appended(store, request([about(ann), about(bob), about(ann, bob)]));
  await store.close();
});
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});
afterAll(() => original.drop());

function copied(of: TestPlane): TestPlane {
  const plane = of.copy();
  planes.push(plane);
  return plane;
}

const erase = async (store: SqliteStore): Promise<unknown> =>
  store.append(ending(ann, await allAbout(store, ann)));
/** Both in one commit: what is recorded after the erasure gets another key. */
const eraseAndRecord = async (store: SqliteStore): Promise<unknown> => {
  const targets = await allAbout(store, ann);
  return Promise.all([store.append(ending(ann, targets)), store.append(request([about(ann)]))]);
};
const recordNew = (store: SqliteStore): Promise<unknown> =>
  store.append(request([about('c3'.repeat(16), bob), about(ann)]));

const changes = [
  ['an erasure with its key', erase],
  ['an erasure, and an event about the subject in the same commit', eraseAndRecord],
  ['events about a new subject', recordNew],
] as const;

/** Secrets by the ids of their keys. */
function secretsIn({ dataDir }: TestPlane): Map<string, string> {
  const db = new Database(storeFiles(dataDir).subjects, { readonly: true });
  const rows = db.prepare<[], { id: string; secret: string }>(
    'SELECT key_id AS id, hex(secret) AS secret FROM subject_key',
  );
  const found = new Map(rows.all().map(({ id, secret }) => [id, secret]));
  db.close();
  return found;
}

/** After the next start. Answers whether Ann was erased. */
async function judge(plane: TestPlane): Promise<boolean> {
  const store = plane.open({ masterKey });
  const leaf = (await store.leaf('prj_a', 1))!;
  const erased = leaf.erased !== undefined;
  expect(leaf.isGone).toBeUndefined();
  expect(leaf.disclosures).toEqual(erased ? '[]' : expect.stringContaining(value));
  expect((await store.leaf('prj_a', 2))!.disclosures).toContain(value);
  const { size } = await store.head('prj_a', 'audit');
  for (const { record, ...each } of await store.leaves('prj_a', 'audit', { from: 4, to: size })) {
    if (record.includes('gov.event/1')) expect(each.disclosures).toContain(value);
  }
  // it goes on
  await appended(store, request([about(ann), about(bob)]));
  await store.append(ending(bob, await allAbout(store, bob)));
  expect(await store.hasSubjectKey('prj_a', bob)).toBe(false);
  await store.close();
  const destroyed = plane.query<{ key_id: string }>('SELECT key_id FROM erased_key');
  const secrets = secretsIn(plane);
  for (const { key_id: id } of destroyed) expect(secrets.get(id)).toMatch(/^0+$/);
  const { problems } = await fsckStore({ dataDir: plane.dataDir, deep: true, masterKey });
  expect(problems).toEqual([]);
  return erased;
}

class Steps implements Faults {
  readonly names: string[] = [];
  armed = false;
  readonly #at: (no: number, name: string) => void;

  constructor(at: (no: number, name: string) => void) {
    this.#at = at;
  }

  before(step: string): void {
    if (!this.armed) return;
    this.names.push(step);
    this.#at(this.names.length - 1, step);
  }
}

/** Names of the steps of a change that nothing disturbs. */
async function stepsOf(change: (store: SqliteStore) => Promise<unknown>, at = (): void => {}) {
  const plane = copied(original);
  const steps = new Steps(() => at());
  const store = plane.open({ masterKey, faults: steps });
  steps.armed = true;
  await change(store);
  steps.armed = false;
  await store.close();
  return { plane, names: steps.names };
}

describe.each(changes)('%s', (_name, change) => {
  it('a change of subject keys is complete or absent after a stop at any moment', async () => {
    const moments: TestPlane[] = [];
    const plane = copied(original);
    const steps = new Steps(() => {
      const moment = new TestPlane();
      planes.push(moment);
      cpSync(plane.dataDir, moment.dataDir, { recursive: true });
      // shared memory is made anew by whoever opens the files first
      for (const name of ['lock', 'gov.db-shm', 'subjects.db-shm', 'heads.db-shm']) {
        rmSync(join(moment.dataDir, name), { force: true });
      }
      moments.push(moment);
    });
    const store = plane.open({ masterKey, faults: steps });
    steps.armed = true;
    await change(store);
    steps.armed = false;
    await store.close();
    const outcomes: boolean[] = [];
    for (const moment of moments) outcomes.push(await judge(moment));
    const committed = steps.names.lastIndexOf('commit');
    const isErasure = change !== recordNew;
    expect(outcomes).toEqual(moments.map((_, at) => isErasure && at > committed));
    expect(await judge(plane)).toBe(isErasure);
  });

  it.each(['SQLITE_IOERR_FSYNC', 'SQLITE_FULL'])(
    'a change of subject keys is complete or absent when a step fails with %s',
    async (code) => {
      const { names } = await stepsOf(change);
      expect(names).toContain(change === erase ? 'destroy subject key' : 'insert subject key');
      for (let at = 0; at < names.length; at++) {
        const plane = copied(original);
        const steps = new Steps((no, step) => {
          if (no === at) throw new Database.SqliteError(`injected ${code} at ${step}`, code);
        });
        const store = plane.open({ masterKey, faults: steps });
        steps.armed = true;
        await change(store).catch(() => null);
        steps.armed = false;
        await store.close().catch(() => null);
        await judge(plane);
      }
    },
  );
});

describe('a subject key that could not be destroyed', () => {
  it.each([
    ['as soon as there is space again', (store: SqliteStore) => expect(store.probe()).toBe(true)],
    ['at the stop', (store: SqliteStore) => store.close()],
  ])('a subject key that could not be destroyed is destroyed %s', async (_when, end) => {
    const plane = copied(original);
    let left = 1;
    const steps = new Steps((_, step) => {
      if (step === 'commit subject keys' && left-- > 0)
        throw new Database.SqliteError('injected: full', 'SQLITE_FULL');
    });
    const store = plane.open({ masterKey, faults: steps });
    steps.armed = true;
    await erase(store);
    expect(store.condition().reasons).toEqual([expect.stringMatching(/^storage_full: /)]);
    const live = (): string[] => [...secretsIn(plane).values()].filter((secret) => !/^0+$/.test(secret));
    expect(live()).toHaveLength(2);
    const { problems } = await fsckStore({ dataDir: plane.dataDir, deep: true, masterKey });
    expect(problems.map(({ kind }) => kind)).toEqual(['erasure_mismatch']);
    await end(store);
    expect(live()).toHaveLength(1);
    await store.close();
    expect((await fsckStore({ dataDir: plane.dataDir, deep: true, masterKey })).problems).toEqual([]);
  });
});

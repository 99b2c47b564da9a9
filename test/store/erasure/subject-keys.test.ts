/**
 * Keys of subjects on SQLite: what an erasure destroys no copy of the log opens any more, whatever failed on the way.
 * Every step that fails: `test/store/sqlite/effects/faults-subjects.long.test.ts`; older copies: `test/store/sqlite/effects/old-keys.test.ts`; the other engine:
 * `test/store/postgres/effects/subject-keys.test.ts`.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { openReader } from '../../../src/store/sqlite/store.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { appended, codeOf, genesis, projectOf, request, stored } from '../support/fixture.ts';
import { allAbout, ending } from '../support/erasing.ts';
import { TestPlane } from '../support/plane.ts';
import {
  about,
  ann,
  beside,
  bob,
  check,
  dropPlanes,
  eraseAll,
  filesWith,
  keysIn,
  kinds,
  masterKey,
  planes,
  recorded,
  secret,
  textOf,
} from '../support/subjects.ts';

dropPlanes();

describe('a subject key', () => {
  it.each([false, true])(
    'a subject key opens the bodies about its subject and no others; writer in a thread: %s',
    async (thread) => {
      const { plane, store } = await recorded({ thread });
      for (const index of [1, 2, 3, 4]) expect(await textOf(store, index)).toContain(secret);
      const reader = openReader(storeFiles(plane.dataDir).main, masterKey);
      expect((await reader.leaf('prj_a', 3))!.disclosures).toContain(secret);
      reader.close();
      await store.close();
      expect(filesWith(plane, Buffer.from(secret))).toEqual([]);
      const [one, two] = keysIn(plane).map(({ key_id: id }) => id);
      expect(
        plane.query('SELECT idx, substr(disclosures, 1, 5) AS form, keys FROM body WHERE idx > 0'),
      ).toEqual([
        { idx: 1, form: 'gcm2.', keys: one },
        { idx: 2, form: 'gcm2.', keys: two },
        { idx: 3, form: 'gcm2.', keys: [one, two].toSorted().join(',') },
        { idx: 4, form: 'gcm1.', keys: null },
      ]);
      expect(await kinds(plane)).toEqual([]);
    },
  );

  it.each([false, true])(
    'the last erasure of a subject destroys its key, so that no copy opens; thread: %s',
    async (thread) => {
      const { plane, store } = await recorded({ thread });
      expect(await store.hasSubjectKey('prj_a', ann)).toBe(true);
      await store.close();
      const older = plane.copy();
      planes.push(older);
      const [ofAnn, ofBob] = keysIn(plane);
      const again = plane.open({ masterKey, thread });
      await eraseAll(again, ann);
      expect(await again.hasSubjectKey('prj_a', ann)).toBe(false);
      expect([await textOf(again, 1), await textOf(again, 3)]).toEqual(['[]', '[]']);
      expect([await textOf(again, 2), await textOf(again, 4)]).toEqual([
        expect.stringContaining(secret),
        expect.stringContaining(secret),
      ]);
      // while it serves
      expect(filesWith(plane, ofAnn!.secret)).toEqual([]);
      expect(filesWith(plane, ofBob!.secret)).not.toEqual([]);
      await again.close();
      expect(filesWith(plane, ofAnn!.secret)).toEqual([]);
      expect(filesWith(plane, Buffer.from(ann))).not.toContain('subjects.db');
      expect(await kinds(plane)).toEqual([]);

      const old = beside(older, plane).open({ masterKey });
      for (const index of [1, 3]) {
        expect(await old.leaf('prj_a', index)).toMatchObject({ disclosures: '[]', isGone: true });
        expect((await old.leaf('prj_a', index))!.erased).toBeUndefined();
      }
      expect(await textOf(old, 2)).toContain(secret);
      await old.close();
    },
  );

  it('events about a subject after its erasure get a new subject key', async () => {
    const { plane, store } = await recorded();
    await eraseAll(store, ann);
    const [made] = await appended(store, request([about([ann], 'later')]));
    expect(await textOf(store, made!.index)).toContain('later');
    await eraseAll(store, ann);
    expect(await textOf(store, made!.index)).toBe('[]');
    await store.close();
    expect(keysIn(plane).map(({ secret: bytes }) => bytes.equals(Buffer.alloc(32)))).toEqual([
      true,
      false,
      true,
    ]);
    expect(await kinds(plane)).toEqual([]);
  });
});

describe('a reader during the erasure of a subject', () => {
  it('a reader during the erasure of a subject finds the values or the erasure, and always one of both', async () => {
    const { plane, store } = await recorded({ thread: true });
    const reader = openReader(storeFiles(plane.dataDir).main, masterKey);
    const found = new Set<string>();
    for (let round = 0; round < 40; round++) {
      const subject = `${round}`.padStart(32, 'd');
      const [made] = await appended(store, request([about([subject])]));
      const over = new AbortController();
      const done = eraseAll(store, subject).finally(() => over.abort());
      for (let reads = 0; !over.signal.aborted || reads < 2; reads++) {
        const leaf = (await reader.leaf('prj_a', made!.index))!;
        expect(leaf.isGone).toBeUndefined();
        found.add(leaf.disclosures === '[]' ? `erased: ${leaf.erased !== undefined}` : 'kept');
        if (reads % 8 === 7) await new Promise((resolve) => setImmediate(resolve));
      }
      await done;
    }
    expect([...found].toSorted()).toEqual(['erased: true', 'kept']);
    reader.close();
    await store.close();
  });
});

describe('fsck beside erasures', () => {
  it('fsck finds no problem while another process erases subjects', async () => {
    const { plane, store } = await recorded({ thread: true });
    const subjects = Array.from({ length: 30 }, (_, at) => `${at}`.padStart(32, 'd'));
    await appended(store, request(subjects.map((each) => about([each]))));
    const over = new AbortController();
    const ends = (async () => {
      for (const subject of subjects) await eraseAll(store, subject);
    })().finally(() => over.abort());
    while (!over.signal.aborted) expect((await check(plane)).problems).toEqual([]);
    await ends;
    await store.close();
    expect(await kinds(plane)).toEqual([]);
  });
});

describe('the record of a destroyed key', () => {
  async function erased(): Promise<TestPlane> {
    const { plane, store } = await recorded();
    await eraseAll(store, ann);
    await store.close();
    return plane;
  }

  it.each([
    ['that no leaf names', "INSERT INTO erased_key (project, leaf_index, key_id) VALUES (1, 2, 'x')"],
    ['of a leaf that is not there', 'UPDATE erased_key SET leaf_index = 2'],
    ['that is gone', 'DELETE FROM erased_key'],
  ])('fsck reports a row about a destroyed key %s', async (_what, change) => {
    const plane = await erased();
    plane.sql(change);
    expect(new Set(await kinds(plane))).toEqual(new Set(['erasure_mismatch']));
  });

  it('the database refuses changes to the rows that record destroyed keys', async () => {
    const plane = await erased();
    for (const change of [
      'UPDATE erased_key SET leaf_index = 2',
      'DELETE FROM erased_key',
      'DELETE FROM key_file',
      "UPDATE body SET keys = 'x', erased = '[[1]]', disclosures = '' WHERE keys IS NOT NULL",
    ]) {
      expect(() => plane.guarded(change), change).toThrow(/append-only|only loses/);
    }
    const keys = new Database(storeFiles(plane.dataDir).subjects);
    for (const change of [
      "UPDATE subject_key SET secret = randomblob(32), subject = ''",
      "UPDATE subject_key SET key_id = 'x'",
      'DELETE FROM subject_key',
    ]) {
      expect(() => keys.exec(change), change).toThrow(/append-only|nothing else of it changes/);
    }
    keys.close();
    expect(await kinds(plane)).toEqual([]);
  });
});

describe('many subject keys in one file', () => {
  it('many subject keys in one file are destroyed one by one, and none leaves a trace', async () => {
    const plane = new TestPlane();
    planes.push(plane);
    const store = plane.open({ masterKey });
    await store.createProject(projectOf('a'), genesis('a'));
    const subjects = Array.from({ length: 600 }, (_, at) => `${at}`.padStart(32, 'f'));
    for (let from = 0; from < subjects.length; from += 50) {
      await appended(store, request(subjects.slice(from, from + 50).map((each) => about([each]))));
    }
    const all = keysIn(plane);
    expect(all).toHaveLength(subjects.length);
    const chosen = subjects.filter((_, at) => at % 3 === 0);
    for (const subject of chosen) await eraseAll(store, subject);
    for (const closed of [false, true]) {
      if (closed) await store.close();
      const files = readdirSync(plane.dataDir).map((name) => readFileSync(join(plane.dataDir, name)));
      const found = all.filter((key) => files.some((file) => file.includes(key.secret)));
      expect(found.map(({ subject }) => subject)).toEqual(subjects.filter((each) => !chosen.includes(each)));
    }
  });

  it('destroyed keys leave the write-ahead log once no other program reads the file', async () => {
    const { plane, store } = await recorded();
    const [ofAnn] = keysIn(plane);
    const copying = new Database(storeFiles(plane.dataDir).subjects, { readonly: true });
    copying.exec('BEGIN; SELECT count(*) FROM subject_key');
    await eraseAll(store, ann);
    expect(filesWith(plane, ofAnn!.secret)).not.toEqual([]);
    copying.close();
    await store.sweep(plane.clock.ms);
    expect(filesWith(plane, ofAnn!.secret)).toEqual([]);
    await store.close();
  });

  it('an event may have as many subjects as the limit says', async () => {
    const { plane, store } = await recorded();
    const people = Array.from({ length: limits.subjectsPerLeaf }, (_, at) => `${at}`.padStart(32, 'e'));
    const [made] = await appended(store, request([about(people)]));
    expect(await textOf(store, made!.index)).toContain(secret);
    await eraseAll(store, people.at(-1)!);
    expect(await textOf(store, made!.index)).toBe('[]');
    expect(await store.hasSubjectKey('prj_a', people[0]!)).toBe(true);
    await store.close();
    expect(await kinds(plane)).toEqual([]);
  });
});

describe('events from before the master key', () => {
  it('an erasure of events from before the master key destroys no subject key', async () => {
    const plane = new TestPlane();
    planes.push(plane);
    const clear = plane.open();
    await clear.createProject(projectOf('a'), genesis('a'));
    await appended(clear, request([about([ann])]));
    expect(await clear.hasSubjectKey('prj_a', ann)).toBe(false);
    await clear.close();
    expect(existsSync(storeFiles(plane.dataDir).subjects)).toBe(false);
    const store = plane.open({ masterKey });
    await appended(store, request([about([ann])]));
    const targets = await allAbout(store, ann);
    // a leaf that said so of both would not be true of the first
    expect(await codeOf(store.append(ending(ann, targets)))).toBe('CONFLICT');
    expect(await codeOf(store.append(ending(ann, targets.slice(0, 1))))).toBe('CONFLICT');
    expect(await codeOf(store.append(ending(bob, targets.slice(1))))).toBe('CONFLICT');
    expect(await textOf(store, 2)).toContain(secret);
    await stored(store, ending(ann, targets.slice(1)));
    expect(await textOf(store, 1)).toContain(secret);
    await store.close();
    expect(await kinds(plane)).toEqual([]);
  });

  it('an erasure keeps the key of a subject when a new event about the subject arrives meanwhile', async () => {
    const { plane, store } = await recorded();
    const targets = await allAbout(store, ann);
    const both = [store.append(request([about([ann], 'meanwhile')])), store.append(ending(ann, targets))];
    expect(await Promise.all(both.map((each) => codeOf(each)))).toEqual(['none', 'CONFLICT']);
    expect(await textOf(store, 5)).toContain('meanwhile');
    expect(await textOf(store, 1)).toContain(secret);
    await store.close();
    expect(await kinds(plane)).toEqual([]);
  });
});

/** Rows that lead to events, changed below SQL's guards: repeats and subjects. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import Database from 'better-sqlite3';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { TestPlane } from '../support/plane.ts';
import { ann, bob, check, dropPlanes, eraseAll, recorded } from '../support/subjects.ts';

let original: TestPlane;
const planes: TestPlane[] = [];
beforeAll(async () => void (original = await new TestPlane().filled(10)));
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});
afterAll(() => original.drop());
dropPlanes();

describe('fsck of the rows that find a repeated event', () => {
  it.each([
    ['a row taken away', "DELETE FROM client_event WHERE client_event_id = 'c3'", ['client_event/4']],
    [
      'a row of another leaf',
      "UPDATE client_event SET idx = 9 WHERE client_event_id = 'c3'",
      ['client_event/4'],
    ],
    [
      'a row of an id that no event has',
      "INSERT INTO client_event SELECT project, 'ghost', idx, fingerprint FROM client_event WHERE idx = 4",
      ['client_event'],
    ],
  ])('fsck finds %s', async (_, statement, places) => {
    const plane = original.copy();
    planes.push(plane);
    plane.sql(statement);
    const { problems } = await plane.fsck(false);
    expect(problems.map(({ position, kind }) => `${position} ${kind}`)).toEqual(
      places.map((place) => `prj_a/${place} index_mismatch`),
    );
  });
});

describe('fsck of the rows by which an erasure finds events', () => {
  it('finds a row of a subject that is gone, and misses none after an erasure', async () => {
    const { plane, store } = await recorded();
    await eraseAll(store, bob);
    await store.close();
    expect((await check(plane)).problems).toEqual([]);
    plane.sql(`DELETE FROM subject WHERE subject = '${ann}'`);
    const { problems } = await check(plane);
    expect(problems.map(({ position }) => position)).toEqual(['prj_a/subject/1']);
    const db = new Database(storeFiles(plane.dataDir).main, { readonly: true });
    expect(db.prepare('SELECT count(*) FROM subject').pluck().get()).toBe(0);
    db.close();
  });
});

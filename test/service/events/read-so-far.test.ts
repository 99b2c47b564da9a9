/** A kept result continues only where the log still has all that it read: each kind of loss below the store ends that. */
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { ReadSoFar } from '../../../src/service/events/read-so-far.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { openReader, type SqliteStore } from '../../../src/store/sqlite/store.ts';
import { appended, event, request } from '../../store/support/fixture.ts';
import { evaluation, unmetered } from '../../store/support/governance.ts';
import type { TestPlane } from '../../store/support/plane.ts';
import { ann, dropPlanes, eraseAll, masterKey, planes, recorded } from '../../store/support/subjects.ts';
import { unguarded } from '../../support/unguarded.ts';

dropPlanes();

const leaves = {
  types: ['gov.event/1', 'gov.evaluation/1'],
  changedBy: ['gov.erasure/1', 'gov.approver/1'],
} as const;

const readerOf = ({ dataDir }: TestPlane) => openReader(storeFiles(dataDir).main, masterKey);

/** Run `r1` with events at the leaves 1 to 4 and an evaluation at 5, all of which were read. */
async function read(): Promise<{ plane: TestPlane; store: SqliteStore; isStill: () => Promise<boolean> }> {
  const { plane, store } = await recorded();
  await appended(store, unmetered([evaluation('1')]));
  const soFar = new ReadSoFar({ projectId: 'prj_a', runId: 'r1' }, leaves);
  const isStill = async (): Promise<boolean> => {
    const reader = readerOf(plane);
    try {
      return await soFar.isStill(reader);
    } finally {
      reader.close();
    }
  };
  const reader = readerOf(plane);
  await soFar.extend(reader, 3);
  await soFar.extend(reader, 6);
  reader.close();
  return { plane, store, isStill };
}

describe('what a kept result has read', () => {
  it('is still there after later leaves of any run', async () => {
    const { store, isStill } = await read();
    expect(await isStill()).toBe(true);
    await appended(store, request([event(), event({ runId: 'r2' })]));
    await appended(store, unmetered([evaluation('2')]));
    expect(await isStill()).toBe(true);
    await store.close();
  });

  it('is not there as it was after an erasure in any run', async () => {
    const { store, isStill } = await read();
    await eraseAll(store, ann);
    expect(await isStill()).toBe(false);
    await store.close();
  });

  it.each([
    ['the body of an event', 'DELETE FROM body WHERE idx = 4'],
    ['the end of a body', 'UPDATE body SET disclosures = substr(disclosures, 1, 50) WHERE idx = 4'],
    ['the record of an event', 'DELETE FROM leaf WHERE idx = 2'],
    ['the row that lists an event', 'DELETE FROM run_event WHERE idx = 4'],
    ['the body of an evaluation', 'DELETE FROM body WHERE idx = 5'],
    ['the row that lists an evaluation', 'DELETE FROM decided WHERE idx = 5'],
    ['the newest leaves', 'UPDATE head SET size = 5 WHERE tree = 0'],
  ])('is not there once the database lost %s', async (_what, statement) => {
    const { plane, store, isStill } = await read();
    await store.close();
    plane.sql(statement);
    expect(await isStill()).toBe(false);
  });

  it('is not there once a key of a subject is lost', async () => {
    const { plane, store, isStill } = await read();
    await store.close();
    const keys = new Database(storeFiles(plane.dataDir).subjects);
    unguarded(keys, () => keys.exec('DELETE FROM subject_key WHERE no = 1'));
    keys.close();
    expect(await isStill()).toBe(false);
  });

  it('is not in a log that was rolled back and has other leaves of equal figures now', async () => {
    const { plane, store } = await recorded();
    await store.close();
    const other = plane.copy();
    planes.push(other);
    const sizes: number[] = [];
    for (const [each, step] of [
      [plane, 1],
      [other, 2],
    ] as const) {
      const opened = each.open({ masterKey });
      const [made] = await appended(opened, request([event({ metadata: { step } })]));
      sizes.push(made!.index + 1);
      await opened.close();
    }
    const soFar = new ReadSoFar({ projectId: 'prj_a', runId: 'r1' }, leaves);
    const [reader, rolledBack] = [readerOf(plane), readerOf(other)];
    await soFar.extend(reader, sizes[0]!);
    expect(sizes[1]).toBe(sizes[0]);
    const events = { runId: 'r1', type: 'gov.event/1' } as const;
    const figures = [reader, rolledBack].map((each) =>
      each.leafFigures('prj_a', events, { from: 0, before: sizes[0]! }),
    );
    expect(await figures[1]).toEqual(await figures[0]);
    expect([await soFar.isStill(reader), await soFar.isStill(rolledBack)]).toEqual([true, false]);
    reader.close();
    rolledBack.close();
  });
});

/** Following a log from a cursor: every leaf is taken once, in order, and what is made of it is saved with the cursor. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { follow, newCursor, positionOf } from '../../../src/service/outbox/follow.ts';
import { openStore, type SqliteStore } from '../../../src/store/sqlite/store.ts';
import type { DocumentChange, Leaf, StoredDocument } from '../../../src/store/port/store.ts';
import {
  dropFolder,
  event,
  genesis,
  HandClock,
  newFolder,
  projectOf,
  request,
  seededBytes,
  startMs,
  stored,
} from '../../store/support/fixture.ts';

let store: SqliteStore;
let dataDir: string;
beforeEach(async () => {
  dataDir = newFolder();
  store = openStore({ dataDir, clock: new HandClock(), randomBytes: seededBytes('follow'), reserveBytes: 0 });
  await store.createProject(projectOf('a'), genesis('a'));
});
afterEach(async () => {
  await store.close();
  dropFolder(dataDir);
});

const record = async (count: number): Promise<void> =>
  void (await stored(store, request(Array.from({ length: count }, () => event()))));

async function start(next: number): Promise<StoredDocument> {
  await store.saveDocuments('prj_a', [newCursor('cursor', 'test', { next, nowMs: startMs })]);
  const cursor = await store.document('prj_a', 'cursor', 'test');
  if (cursor === null) throw new Error('expected a cursor, got none');
  return cursor;
}

const copyOf = ({ index }: Leaf): DocumentChange => ({
  save: {
    kind: 'copy',
    documentId: `leaf-${index}`,
    key: null,
    parentId: null,
    status: 'made',
    createdMs: startMs,
    dueMs: null,
    version: 0,
    data: '{}',
  },
});

describe('a follower of a log', () => {
  it('takes every leaf once, in order, over several steps', async () => {
    await record(450);
    const taken: number[] = [];
    const take = async (leaves: readonly Leaf[]) => {
      taken.push(...leaves.map(({ index }) => index));
      return [];
    };
    let cursor = await start(1);
    for (let steps = 0; steps < 9; steps += 1) {
      const after = await follow({ store, cursor, take });
      if (after === null || after === 'lost') break;
      cursor = after;
    }
    expect(taken).toEqual(Array.from({ length: 450 }, (_, n) => n + 1));
    expect(await follow({ store, cursor, take })).toBeNull();
    await record(1);
    expect(positionOf((await follow({ store, cursor, take })) as StoredDocument)).toBe(452);
  });

  it('saves what it makes with the cursor, and of two that take one step only one saves', async () => {
    await record(3);
    const cursor = await start(0);
    const take = async (leaves: readonly Leaf[]) => leaves.map(copyOf);
    const both = await Promise.all([follow({ store, cursor, take }), follow({ store, cursor, take })]);
    expect(both.filter((each) => each === 'lost')).toHaveLength(1);
    expect(await store.documents('prj_a', { kind: 'copy' }, { limit: 9 })).toHaveLength(4);
    expect(positionOf((await store.document('prj_a', 'cursor', 'test')) as StoredDocument)).toBe(4);
  });

  it('leaves the cursor where it is when taking fails', async () => {
    await record(3);
    const cursor = await start(0);
    const failing = async () => {
      throw new Error('the receiver is away');
    };
    await expect(follow({ store, cursor, take: failing })).rejects.toThrow('the receiver is away');
    expect(await store.document('prj_a', 'cursor', 'test')).toEqual(cursor);
  });
});

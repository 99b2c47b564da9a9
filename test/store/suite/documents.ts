/** Documents beside the log: compare-and-set, keys, bounds, claims with leases, and tenants. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { DocumentChange, DocumentClaim, Store, StoredDocument } from '../../../src/store/port/store.ts';
import { codeOf, genesis, projectOf, startMs, stored } from '../support/fixture.ts';
import { open } from '../support/engine.ts';
import { unmetered } from '../support/governance.ts';

type New = Omit<StoredDocument, 'projectId'>;

const made = (documentId: string, more: Partial<New> = {}): New => ({
  kind: 'note',
  documentId,
  key: null,
  parentId: null,
  status: 'open',
  createdMs: startMs,
  dueMs: null,
  version: 0,
  data: '{}',
  ...more,
});
const saving = (documentId: string, more: Partial<New> = {}): DocumentChange => ({
  save: made(documentId, more),
});
const save = (store: Store, ...changes: DocumentChange[]) => store.saveDocuments('prj_a', changes);
const claim = (store: Store, more: Partial<DocumentClaim> = {}) =>
  store.claimDocument({ kind: 'note', statuses: ['open'], nowMs: startMs, leaseMs: 1000, ...more });
const ids = (list: readonly StoredDocument[]): string[] => list.map(({ documentId }) => documentId);

describe('documents', () => {
  it('are saved from the version that was read, all changes of a request or none', async () => {
    const { store, reopen, drop } = await open();
    expect(await save(store, saving('one', { data: '{"a":"ü"}' }), saving('two'))).toBe('saved');
    expect(await save(store, saving('one', { data: '{"a":2}' }))).toBe('conflict');
    expect(await save(store, saving('three'), saving('one', { version: 7 }))).toBe('conflict');
    expect(await store.document('prj_a', 'note', 'three')).toBeNull();
    expect(await save(store, saving('one', { version: 1, status: 'done', dueMs: 5 }))).toBe('saved');
    const again = await reopen();
    expect(await again.document('prj_a', 'note', 'one')).toEqual({
      projectId: 'prj_a',
      ...made('one', { version: 2, status: 'done', dueMs: 5 }),
    });
    expect(await again.document('prj_a', 'other', 'one')).toBeNull();
    expect(await save(again, { remove: { kind: 'note', documentId: 'one', version: 1 } })).toBe('conflict');
    expect(await save(again, { remove: { kind: 'note', documentId: 'one', version: 2 } })).toBe('saved');
    expect(await again.document('prj_a', 'note', 'one')).toBeNull();
    await drop();
  });

  it('that a change expects in another version refuse it, and stay as they are', async () => {
    const { store, drop } = await open();
    const expecting = (version: number): DocumentChange => ({
      expect: { kind: 'note', documentId: 'one', version },
    });
    expect(await save(store, expecting(1), saving('two'))).toBe('conflict');
    expect(await save(store, expecting(0), saving('two'))).toBe('saved');
    // both may be in one commit, in this order
    const [first, second] = [save(store, saving('one')), save(store, expecting(0), saving('three'))];
    expect(await Promise.all([first, second])).toEqual(['saved', 'conflict']);
    expect(await save(store, expecting(1), saving('three'))).toBe('saved');
    const all = await store.documents('prj_a', { kind: 'note' }, { limit: 10 });
    expect(all.map(({ documentId, version }) => [documentId, version]).toSorted()).toEqual([
      ['one', 1],
      ['three', 1],
      ['two', 1],
    ]);
    await drop();
  });

  it('of several requests at once from one version let one of them win', async () => {
    const { store, drop } = await open();
    await save(store, saving('one'));
    const results = await Promise.all(
      ['a', 'b', 'c'].map((status) => save(store, saving('one', { version: 1, status }))),
    );
    expect(results.toSorted()).toEqual(['conflict', 'conflict', 'saved']);
    await drop();
  });

  it('share the transaction of the request that appends, and its refusal', async () => {
    const { store, drop } = await open();
    const change = saving('one');
    await stored(store, unmetered([genesis('x')], [{ kind: 'saveDocuments', changes: [change] }]));
    const { size } = await store.head('prj_a', 'audit');
    const repeated = unmetered([genesis('x')], [{ kind: 'saveDocuments', changes: [change] }]);
    expect(await codeOf(store.append(repeated))).toBe('PRECONDITION_FAILED');
    expect((await store.head('prj_a', 'audit')).size).toBe(size);
    await drop();
  });

  it('are found by a key over all projects, which one document of a kind has', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    await save(store, saving('one', { key: 'k1' }));
    expect(await save(store, saving('two', { key: 'k1' }))).toBe('conflict');
    expect(await save(store, saving('two', { key: 'k1', kind: 'other' }))).toBe('saved');
    await store.saveDocuments('prj_b', [saving('one', { key: 'k2' })]);
    expect(await store.documentByKey('note', 'k2')).toMatchObject({ projectId: 'prj_b', documentId: 'one' });
    expect(await store.documentByKey('note', 'k1')).toMatchObject({ projectId: 'prj_a', documentId: 'one' });
    expect(await store.documentByKey('note', 'k3')).toBeNull();
    await save(store, { remove: { kind: 'note', documentId: 'one', version: 1 } });
    expect(await save(store, saving('three', { key: 'k1' }))).toBe('saved');
    await drop();
  });

  it('are at most as many of a kind as the request allows, and of a bounded size', async () => {
    const { store, drop } = await open();
    const most = 2;
    const bounded = (id: string): DocumentChange => ({ save: made(id), most });
    expect(await save(store, bounded('one'))).toBe('saved');
    expect(await save(store, bounded('two'))).toBe('saved');
    expect(await save(store, bounded('three'))).toBe('full');
    expect(await save(store, { save: made('two', { version: 1 }), most })).toBe('saved');
    expect(await save(store, { remove: { kind: 'note', documentId: 'one', version: 1 } })).toBe('saved');
    expect(await Promise.all([save(store, bounded('three')), save(store, bounded('four'))])).toEqual([
      'saved',
      'full',
    ]);
    const data = 'x'.repeat(limits.documentBytes);
    expect(await save(store, saving('large', { data }))).toBe('saved');
    expect(await codeOf(save(store, saving('larger', { data: `${data}x` })))).toBe('PAYLOAD_TOO_LARGE');
    await drop();
  });

  it('are listed newest first by parent and status, and over all projects by id', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    const at = (ms: number, more: Partial<New> = {}) => ({ createdMs: startMs + ms, ...more });
    await save(
      store,
      saving('one', at(1, { parentId: 'p' })),
      saving('two', at(2, { parentId: 'p', status: 'done' })),
      saving('three', at(3)),
    );
    await store.saveDocuments('prj_b', [saving('zero', at(9, { parentId: 'p' }))]);
    const list = async (filter: { parentId?: string; status?: string }, limit = 9) =>
      ids(await store.documents('prj_a', { kind: 'note', ...filter }, { limit }));
    expect(await list({})).toEqual(['three', 'two', 'one']);
    expect(await list({ parentId: 'p' })).toEqual(['two', 'one']);
    expect(await list({ parentId: 'p', status: 'open' })).toEqual(['one']);
    expect(await list({}, 1)).toEqual(['three']);
    const after = { ms: startMs + 3, id: 'three' };
    expect(ids(await store.documents('prj_a', { kind: 'note' }, { after, limit: 1 }))).toEqual(['two']);
    expect(ids(await store.allDocuments('note', { limit: 2 }))).toEqual(['one', 'three']);
    expect(
      ids(await store.allDocuments('note', { after: { projectId: 'prj_a', documentId: 'three' }, limit: 9 })),
    ).toEqual(['two', 'zero']);
    await drop();
  });
});

describe('claims of documents', () => {
  it('take what is due longest, and again once the lease ran out', async () => {
    const { store, drop } = await open();
    await save(
      store,
      saving('late', { dueMs: startMs - 5 }),
      saving('later', { dueMs: startMs - 1 }),
      saving('future', { dueMs: startMs + 1 }),
      saving('never'),
      saving('done', { dueMs: startMs - 9, status: 'done' }),
    );
    const first = await claim(store, { becomes: 'busy', statuses: ['open', 'busy'] });
    expect(first).toMatchObject({ documentId: 'late', status: 'busy', version: 2, dueMs: startMs + 1000 });
    expect(await claim(store)).toMatchObject({ documentId: 'later', status: 'open', version: 2 });
    expect(await claim(store)).toBeNull();
    expect(await store.nextDue(['note'], ['open', 'busy'])).toBe(startMs + 1);
    expect(await store.nextDue(['other'], ['open'])).toBeNull();
    const again = await claim(store, { nowMs: startMs + 1000, statuses: ['busy'] });
    expect(again).toMatchObject({ documentId: 'late', status: 'busy', version: 3 });
    // the first worker lost its lease
    expect(await save(store, saving('late', { version: 2, status: 'done' }))).toBe('conflict');
    expect(await save(store, saving('late', { version: 3, status: 'done' }))).toBe('saved');
    await drop();
  });

  it('give projects turns', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    await save(store, saving('a1', { dueMs: 1 }), saving('a2', { dueMs: 2 }), saving('a3', { dueMs: 3 }));
    await store.saveDocuments('prj_b', [saving('b1', { dueMs: 4 })]);
    const claimed: string[] = [];
    for (let found = await claim(store); found !== null; found = await claim(store)) {
      claimed.push(found.documentId);
    }
    expect(claimed).toEqual(['a1', 'b1', 'a2', 'a3']);
    await drop();
  });

  it('leave out a project that has one at work, where one at a time is asked for', async () => {
    const { store, drop } = await open();
    await save(store, saving('one', { dueMs: 1 }), saving('two', { dueMs: 2 }));
    const alone = { becomes: 'busy', statuses: ['open', 'busy'], most: 1 } as const;
    expect(await claim(store, alone)).toMatchObject({ documentId: 'one' });
    expect(await claim(store, alone)).toBeNull();
    expect(await save(store, saving('one', { version: 2, status: 'done' }))).toBe('saved');
    expect(await claim(store, alone)).toMatchObject({ documentId: 'two' });
    // its worker died
    expect(await claim(store, { ...alone, nowMs: startMs + 1000 })).toMatchObject({ documentId: 'two' });
    await drop();
  });

  it('leave out a project that has as many at work as it may have', async () => {
    const { store, drop } = await open();
    await save(store, ...['one', 'two', 'three'].map((id, at) => saving(id, { dueMs: at + 1 })));
    const two = { becomes: 'busy', statuses: ['open', 'busy'], most: 2 } as const;
    expect(await claim(store, two)).toMatchObject({ documentId: 'one' });
    expect(await claim(store, two)).toMatchObject({ documentId: 'two' });
    expect(await claim(store, two)).toBeNull();
    await drop();
  });

  it('at the same time get different documents', async () => {
    const { store, drop } = await open();
    await save(store, ...Array.from({ length: 8 }, (_, n) => saving(`d${n}`, { dueMs: n })));
    const claimed = await Promise.all(Array.from({ length: 10 }, () => claim(store)));
    const got = claimed.flatMap((each) => (each === null ? [] : [each.documentId]));
    expect(new Set(got).size).toBe(8);
    expect(got.length).toBe(8);
    await drop();
  });
});

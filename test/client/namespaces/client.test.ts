import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createClient,
  createNamespaces,
  GovBadRequestError,
  GovConflictError,
  GovNotFoundError,
  GovTooLargeError,
  limits,
  memoryStore,
  revealSecret,
  sqliteStore,
  type NamespaceStore,
  type Namespaces,
} from '../../../src/client/index.ts';
import { namespaceNames, type Scalar } from '../../../src/client/namespaces/store.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-namespaces-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const secretsKey = new Uint8Array(32).fill(7);
let files = 0;
const newFile = (): string => join(folder, `${(files += 1)}.db`);

describe.each([
  ['in memory', () => Promise.resolve(memoryStore())],
  ['in SQLite', () => sqliteStore(newFile(), { secretsKey })],
])('namespaces %s', (_, open) => {
  let store: NamespaceStore;
  let all: Namespaces;
  beforeEach(async () => {
    store = await open();
    all = createNamespaces(store);
    return () => store.close();
  });

  it.each(namespaceNames)('the operations of %s work detached from it', async (name) => {
    if (name === 'secrets' && store.secretsKey === null) return;
    const { list, create, get, update, archive } = all[name];
    const { id } = await create({ a: 1 });
    await update(id, { a: 2 });
    await archive(id);
    expect(await get(id)).toMatchObject({ version: 2, status: 'archived' });
    expect((await list({ status: 'all' })).data).toHaveLength(1);
  });

  it('a list refuses a parameter that it does not know, and names the filter', async () => {
    const list = all.prompts.list as (params: object) => Promise<unknown>;
    await expect(list({ name: 'greet' })).rejects.toBeInstanceOf(GovBadRequestError);
    await expect(list({ name: 'greet' })).rejects.toThrow('list({ filter: { name: … } })');
    expect(await list({ cursor: undefined, limit: undefined })).toMatchObject({ data: [] });
  });

  it.each(namespaceNames)('%s has the five operations', async (name) => {
    const namespace = all[name];
    const created = await namespace.create({ a: 1 });
    expect(created).toMatchObject({ namespace: name, status: 'active', version: 1, archivedAt: null });
    expect(created.id).toMatch(/^nsr_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
    expect(created.updatedAt).toBe(created.createdAt);
    expect(await namespace.get(created.id)).toEqual(created);
    expect(await namespace.update(created.id, { b: 2 })).toMatchObject({ id: created.id, version: 2 });
    expect(await namespace.archive(created.id)).toBeUndefined();
    expect((await namespace.list()).data).toEqual([]);
    expect((await namespace.list({ status: 'archived' })).data).toHaveLength(1);
  });

  it('an update merges as RFC 7396 and counts the version', async () => {
    const { id } = await all.prompts.create({ text: 'Hi', tags: ['a'], by: { name: 'x', role: 'y' } });
    const updated = await all.prompts.update(id, { text: null, tags: ['b'], by: { role: 'z' } });
    expect(updated).toMatchObject({ data: { tags: ['b'], by: { name: 'x', role: 'z' } }, version: 2 });
    expect(updated.data).not.toHaveProperty('text');
    expect(Date.parse(updated.updatedAt)).toBeGreaterThanOrEqual(Date.parse(updated.createdAt));
    expect(await all.prompts.get(id)).toEqual(updated);
  });

  it('updates at the same time are all kept', async () => {
    const { id } = await all.memory.create({});
    await Promise.all(Array.from({ length: 20 }, (_each, n) => all.memory.update(id, { [`m${n}`]: n })));
    const { data, version } = await all.memory.get(id);
    expect(Object.keys(data)).toHaveLength(20);
    expect(version).toBe(21);
  });

  it('an archived record can be read, archived again and not updated', async () => {
    const { id } = await all.tools.create({ a: 1 });
    await all.tools.archive(id);
    const archived = await all.tools.get(id);
    expect(archived).toMatchObject({ status: 'archived', data: { a: 1 }, version: 1 });
    expect(archived.archivedAt).toBe(archived.updatedAt);
    await all.tools.archive(id);
    expect(await all.tools.get(id)).toEqual(archived);
    await expect(all.tools.update(id, { a: 2 })).rejects.toBeInstanceOf(GovConflictError);
  });

  it('an unknown id, and the id of another namespace, are not found', async () => {
    const { id } = await all.tools.create({});
    for (const call of [
      all.tools.get('nsr_0'),
      all.agents.get(id),
      all.agents.update(id, {}),
      all.agents.archive(id),
      all.tools.get(undefined as unknown as string),
    ]) {
      const failure: unknown = await call.catch((cause: unknown) => cause);
      expect(failure).toBeInstanceOf(GovNotFoundError);
      expect(failure).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    }
  });

  it('data is as large as its limit and no larger, after the patch too', async () => {
    const most = 'x'.repeat(limits.namespaceDataBytes - '{"a":""}'.length);
    const { id } = await all.knowledge.create({ a: most });
    await expect(all.knowledge.create({ a: `${most}x` })).rejects.toBeInstanceOf(GovTooLargeError);
    await expect(all.knowledge.create({ a: most.replace('x', 'é') })).rejects.toThrow(/got 65537/);
    await expect(all.knowledge.update(id, { b: 1 })).rejects.toBeInstanceOf(GovTooLargeError);
    expect(await all.knowledge.update(id, { a: null })).toMatchObject({ data: {}, version: 2 });
  });

  it('data that is not an object of JSON is refused', async () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    for (const data of [null, [], 'a', 1, undefined, circle, { a: 1n }]) {
      await expect(all.quotas.create(data as never)).rejects.toBeInstanceOf(GovBadRequestError);
    }
  });

  it('a list is newest first, page by page, and stands inserts between pages', async () => {
    for (let n = 0; n < 7; n += 1) await all.agents.create({ n });
    const first = await all.agents.list({ limit: 3 });
    expect(first.data.map(({ data }) => data['n'])).toEqual([6, 5, 4]);
    await all.agents.create({ n: 7 });
    const second = await all.agents.list({ limit: 3, cursor: first.nextCursor });
    const third = await all.agents.list({ limit: 3, cursor: second.nextCursor });
    expect([...second.data, ...third.data].map(({ data }) => data['n'])).toEqual([3, 2, 1, 0]);
    expect(third.nextCursor).toBeNull();
    expect((await all.agents.list({ limit: 8 })).nextCursor).toBeNull();
  });

  it('a list has 50 records if no limit is given, at most 200, and refuses a limit below 1', async () => {
    await Promise.all(Array.from({ length: 201 }, () => all.telemetry.create({})));
    expect((await all.telemetry.list()).data).toHaveLength(50);
    expect((await all.telemetry.list({ limit: 200 })).data).toHaveLength(200);
    const clamped = await all.telemetry.list({ limit: 201 });
    expect(clamped.data).toHaveLength(200);
    expect(clamped.nextCursor).not.toBeNull();
    for (const limit of [0, -1, 1.5, Number.NaN]) {
      await expect(all.telemetry.list({ limit })).rejects.toBeInstanceOf(GovBadRequestError);
    }
  });

  it('a cursor belongs to its list, status and filter', async () => {
    for (let n = 0; n < 3; n += 1) await all.agents.create({ n: 1 });
    const { nextCursor: cursor } = await all.agents.list({ limit: 1, filter: { n: 1 } });
    for (const call of [
      all.tools.list({ cursor, filter: { n: 1 } }),
      all.agents.list({ cursor }),
      all.agents.list({ cursor, filter: { n: 1 }, status: 'all' }),
      all.agents.list({ cursor: 'x' }),
    ]) {
      await expect(call).rejects.toMatchObject({ name: 'GovBadRequestError', code: 'INVALID_CURSOR' });
    }
    expect((await all.agents.list({ cursor, filter: { n: 1 } })).data).toHaveLength(2);
  });

  it('a filter compares values with their type, at most five members', async () => {
    // JSON spells 2 ** 60 with digits that are not its own
    const values: Scalar[] = ['1', 1, true, false, null, 0, '', 1.5, 2 ** 60, 1e300];
    for (const value of values) await all.dataSources.create({ value, more: { value: 'deep' } });
    await all.dataSources.create({ value: ['1'] });
    for (const value of values) {
      const { data } = await all.dataSources.list({ filter: { value } });
      expect(data.map((each) => each.data['value'])).toEqual([value]);
    }
    const five = { a: 1, b: 2, c: 3, d: 4, e: 5 };
    await all.dataSources.create(five);
    expect((await all.dataSources.list({ filter: five })).data).toHaveLength(1);
    const six = all.dataSources.list({ filter: { ...five, f: 6 } });
    await expect(six).rejects.toThrow('expected at most 5 members, got 6');
    await expect(all.dataSources.list({ filter: { a: {} as never } })).rejects.toBeInstanceOf(
      GovBadRequestError,
    );
  });

  it('a filter finds a member of any name, and only that', async () => {
    const names = fc.string({ unit: 'grapheme', maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(names, fc.oneof(fc.string(), fc.integer(), fc.boolean()), async (name, value) => {
        const { id } = await all.evaluations.create(Object.fromEntries([[name, value]]));
        const { data } = await all.evaluations.list({ filter: Object.fromEntries([[name, value]]) });
        expect(data.map((each) => each.id)).toContain(id);
        await all.evaluations.archive(id);
      }),
      { numRuns: 60 },
    );
  });

  it('a secret is never returned: its values are redacted with a fingerprint', async () => {
    const created = await all.secrets.create({ token: 's3cret', nested: { pin: 1234 } });
    const redacted = { redacted: true, fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/) };
    expect(created.data).toEqual({ token: redacted, nested: redacted });
    const updated = await all.secrets.update(created.id, { nested: { code: 5 } });
    expect(updated.data['token']).toEqual(created.data['token']);
    expect(updated.data['nested']).not.toEqual(created.data['nested']);
    const answers = [created, updated, await all.secrets.get(created.id), await all.secrets.list()];
    expect(JSON.stringify(answers)).not.toMatch(/s3cret|1234/);
    expect(await revealSecret(store, created.id)).toEqual({
      token: 's3cret',
      nested: { pin: 1234, code: 5 },
    });
    await expect(all.secrets.list({ filter: { token: 's3cret' } })).rejects.toBeInstanceOf(
      GovBadRequestError,
    );
    await expect(revealSecret(store, 'nsr_x')).rejects.toBeInstanceOf(GovNotFoundError);
    const { id } = await all.tools.create({ a: 1 });
    await expect(revealSecret(store, id)).rejects.toBeInstanceOf(GovNotFoundError);
  });

  it('a call whose signal has fired does nothing', async () => {
    const signal = AbortSignal.abort(new Error('stopped'));
    await expect(all.memory.create({}, { signal })).rejects.toThrow('stopped');
    await expect(all.memory.list({}, { signal })).rejects.toThrow('stopped');
    expect((await all.memory.list()).data).toEqual([]);
  });
});

it('a client has the namespaces beside its operations, and each client without a store its own records', async () => {
  const connect = (store?: NamespaceStore) =>
    createClient({ baseUrl: 'http://127.0.0.1:1/api/v1', ...(store === undefined ? {} : { store }) });
  const shared = memoryStore();
  const [one, other, third] = [connect(shared), connect(shared), connect()];
  const { id } = await one.approvals.create({ note: 'mine' });
  expect(await other.approvals.get(id)).toMatchObject({ data: { note: 'mine' } });
  await expect(third.approvals.get(id)).rejects.toBeInstanceOf(GovNotFoundError);
  expect(one.listApprovals).toBeTypeOf('function');
});

describe('a file of SQLite with namespaces', () => {
  it('keeps its records, belongs to its owner alone, and does not contain a secret', async () => {
    const path = newFile();
    const first = await sqliteStore(path, { secretsKey });
    const { id } = await createNamespaces(first).secrets.create({ token: 'find-me-not' });
    const record = await createNamespaces(first).prompts.create({ text: 'find me' });
    first.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const bytes = readFileSync(path).toString('latin1');
    expect(bytes).toContain('find me');
    expect(bytes).not.toContain('find-me-not');
    const second = await sqliteStore(path, { secretsKey });
    expect(await createNamespaces(second).prompts.get(record.id)).toEqual(record);
    expect(await revealSecret(second, id)).toEqual({ token: 'find-me-not' });
    second.close();
  });

  it('shows fingerprints without a key or with another one, and opens nothing', async () => {
    const path = newFile();
    const first = await sqliteStore(path, { secretsKey });
    const created = await createNamespaces(first).secrets.create({ token: 'x' });
    first.close();
    for (const [key, kind] of [
      [undefined, GovBadRequestError],
      [new Uint8Array(32), GovConflictError],
    ] as const) {
      const store = await sqliteStore(path, key === undefined ? {} : { secretsKey: key });
      const { secrets } = createNamespaces(store);
      expect(await secrets.get(created.id)).toEqual(created);
      await expect(secrets.update(created.id, { token: 'y' })).rejects.toBeInstanceOf(kind);
      await expect(revealSecret(store, created.id)).rejects.toBeInstanceOf(kind);
      store.close();
    }
  });

  it('refuses the file of another program, and a key of another length', async () => {
    const path = newFile();
    writeFileSync(path, 'not a database, but long enough to look at its first bytes'.repeat(20));
    await expect(sqliteStore(path)).rejects.toThrow();
    await expect(sqliteStore(newFile(), { secretsKey: new Uint8Array(31) })).rejects.toThrow(
      '32 bytes, got 31',
    );
  });

  it('two stores of one file see each other’s records and lose no update', async () => {
    const path = newFile();
    const stores = [await sqliteStore(path), await sqliteStore(path)];
    const [one, two] = stores.map(createNamespaces);
    const { id } = await one!.memory.create({});
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? one : two)!.memory.update(id, { [`m${n}`]: n })),
    );
    expect(await two!.memory.get(id)).toMatchObject({ version: 21 });
    for (const store of stores) store.close();
  });
});

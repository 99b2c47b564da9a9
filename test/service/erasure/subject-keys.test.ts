/** Erasure of subjects whose bodies are sealed: the last one destroys the key, and says so; on both engines. */
import Database from 'better-sqlite3';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';

const env = { GOV_MASTER_KEY: 'c0ffee'.repeat(10) + 'abcd' };
const canary = 'CNRYsubject';

describe.each(engines)('erasure of a subject with a key, on %s', (engine) => {
  let service: TestService;
  let acme: Tenant;
  beforeAll(async () => {
    service = await startService({ engine, env });
    acme = await service.signUp('Ann');
    const { projectId } = (await acme.call('GET', '/auth/identity')).body;
    const settings = { subjectPointers: ['/metadata/person', '/actor/id'] };
    const set = await acme.call('PUT', `/projects/${projectId}`, { body: { settings } });
    expect(set.status).toBe(200);
  });
  afterAll(() => service.end());

  const about = (person: string | string[], members: object = {}) =>
    event({ metadata: { person, canary }, ...members });
  const record = async (person: string | string[]): Promise<string> =>
    (await acme.call('POST', '/events', { body: about(person) })).body.eventId;
  const erase = async (body: object) => {
    const answer = await acme.call('POST', '/erasures', { body });
    return { status: answer.status, ...answer.body };
  };
  /** Secrets that are not destroyed, in hex. */
  const secrets = async (): Promise<string[]> => {
    const all = await (engine === 'sqlite' ? keysInFile(service) : keysInTable(service));
    return all.filter((secret) => !/^0+$/.test(secret));
  };
  const whole = async () => (await fsck({ dataDir: service.dataDir, env, deep: true })).problems;

  it('an erasure of a subject destroys its key with the last values, and its leaf says so', async () => {
    const ids = [await record('p1'), await record(['p1', 'p2'])];
    const before = await secrets();
    expect(before).toHaveLength(2);
    expect(await erase({ subject: 'p1', dryRun: true })).toMatchObject({ keyDestroyed: true, leaves: 2 });
    expect(await secrets()).toEqual(before);
    const done = await erase({ subject: 'p1' });
    expect(done).toMatchObject({ status: 201, keyDestroyed: true, complete: true, leaves: 2 });
    const { body } = await acme.call('GET', `/erasures/${done.erasureId}`);
    expect(body.keyDestroyed).toBe(true);
    expect(await secrets()).toHaveLength(1);
    for (const id of ids) expect((await acme.call('GET', `/events/${id}`)).body.metadata).toEqual({});
    expect(await erase({ subject: 'p1' })).toMatchObject({
      erasureId: null,
      keyDestroyed: false,
      complete: true,
    });
    expect(await whole()).toEqual([]);
  });

  it('the key of a subject seals its evaluations as well', async () => {
    await record('p0');
    const context = { actor: { id: 'p0' } };
    const evaluate = { runId: 'run-1', checkpoint: { context } };
    expect((await acme.call('POST', '/governance/policy/evaluate', { body: evaluate })).status).toBe(200);
    const done = await erase({ subject: 'p0' });
    expect(done).toMatchObject({ leaves: 2, keyDestroyed: true, complete: true });
    expect(await whole()).toEqual([]);
  });

  it('an erasure destroys the key of a subject also without values, because copies may contain more', async () => {
    const eventId = await record('p3');
    const before = await secrets();
    expect(await erase({ eventId })).toMatchObject({ status: 201, keyDestroyed: false });
    expect(await secrets()).toEqual(before);
    expect(await erase({ subject: 'p3', dryRun: true })).toMatchObject({ leaves: 0, keyDestroyed: true });
    const done = await erase({ subject: 'p3' });
    expect(done).toMatchObject({ status: 201, leaves: 0, fields: 0, keyDestroyed: true, complete: true });
    expect(await secrets()).toHaveLength(before.length - 1);
    expect(await whole()).toEqual([]);
  });

  it('the key of a subject is destroyed only with the last of several erasures', async () => {
    await record('p4');
    const { fields } = await erase({ subject: 'p4', dryRun: true });
    await erase({ subject: 'p4' });
    const most = Math.floor(limits.erasureDigests / fields);
    expect(most).toBeLessThan(limits.erasureTargets);
    for (const [person, count] of [
      ['p4', most],
      ['p5', most + 1],
    ] as const) {
      const events = Array.from({ length: count }, () => about(person, { runId: person }));
      for (let from = 0; from < count; from += limits.batchEvents) {
        const body = { events: events.slice(from, from + limits.batchEvents) };
        expect((await acme.call('POST', '/events/batch', { body })).status).toBe(201);
      }
    }
    expect(await erase({ subject: 'p4' })).toMatchObject({
      leaves: most,
      complete: true,
      keyDestroyed: true,
    });
    expect(await erase({ subject: 'p5' })).toMatchObject({
      leaves: most,
      complete: false,
      keyDestroyed: false,
    });
    expect(await erase({ subject: 'p5' })).toMatchObject({ leaves: 1, complete: true, keyDestroyed: true });
    expect(await whole()).toEqual([]);
  });

  it('the key of a subject stays while new events about it arrive, and the client is asked to repeat', async () => {
    await record('p8');
    const { store } = service.services;
    const append = store.append.bind(store);
    let recorded = 0;
    const spy = vi.spyOn(store, 'append').mockImplementation(async (request) => {
      const ends = request.effects?.some((each) => each.kind === 'eraseFields' && each.destroysKey === true);
      if (ends === true) {
        recorded += 1;
        await record('p8');
      }
      return append(request);
    });
    const done = await erase({ subject: 'p8' });
    spy.mockRestore();
    expect(recorded).toBe(2);
    expect(done).toMatchObject({ status: 201, leaves: 3, complete: false, keyDestroyed: false });
    expect(await erase({ subject: 'p8' })).toMatchObject({ leaves: 0, complete: true, keyDestroyed: true });
    expect(await whole()).toEqual([]);
  });

  it('an erasure erases no event that arrives during it, and erases no event partly', async () => {
    const stop = new AbortController();
    const recorded: string[] = [];
    const recording = (async () => {
      while (!stop.signal.aborted) recorded.push(await record('p6'));
    })();
    const said: boolean[] = [];
    for (let round = 0; round < 8; round++) {
      const { status, keyDestroyed } = await erase({ subject: 'p6' });
      expect([200, 201]).toContain(status);
      said.push(keyDestroyed);
    }
    stop.abort();
    await recording;
    for (let complete = false; !complete;) {
      const { keyDestroyed, ...done } = await erase({ subject: 'p6' });
      said.push(keyDestroyed);
      ({ complete } = done);
    }
    expect(said).toContain(true);
    expect(await whole()).toEqual([]);
    const reads = await Promise.all(recorded.map((id) => acme.call('GET', `/events/${id}`)));
    expect(new Set(reads.map(({ status, body }) => `${status} ${body.action}`))).toEqual(new Set(['200 ']));
    const later = await record('p6');
    expect((await acme.call('GET', `/events/${later}`)).body.metadata).toMatchObject({ canary });
  });
});

async function keysInFile({ dataDir }: TestService): Promise<string[]> {
  const db = new Database(storeFiles(dataDir).subjects, { readonly: true });
  try {
    return db.prepare<[], string>('SELECT lower(hex(secret)) FROM subject_key').pluck().all();
  } finally {
    db.close();
  }
}

async function keysInTable({ database }: TestService): Promise<string[]> {
  const client = new Client(database?.superuser);
  await client.connect();
  const { rows } = await client.query<{ secret: string }>(
    "SELECT encode(secret, 'hex') AS secret FROM gov.subject_key",
  );
  await client.end();
  return rows.map(({ secret }) => secret);
}

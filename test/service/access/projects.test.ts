import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { projectRestored } from '../../../src/service/access/project-events.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { asPerson, inProject, said, told, toldOf } from '../support/tenants.ts';

const unknown = 'prj_00000000000000000000000000';

describe.each(engines)('projects on %s', (engine) => {
  let service: TestService;
  let acme: Tenant;
  let other: Tenant;
  let ann: ReturnType<typeof asPerson>;
  beforeAll(async () => {
    service = await startService({ engine });
    acme = await service.signUp('Ann');
    other = await service.signUp('Zoe');
    ann = asPerson(service, 'Ann');
  });
  afterAll(() => service.end());

  const create = (name: string, environment = 'production', call: Tenant['call'] = acme.call) =>
    call('POST', '/projects', { body: { name, environment } });
  const put = (id: string, body: unknown) => acme.call('PUT', `/projects/${id}`, { body });
  const home = async (): Promise<string> => (await acme.call('GET', '/auth/identity')).body.projectId;

  it('projects are created, listed newest first without their settings, and read with them', async () => {
    const made = await create('Billing');
    expect(made.status).toBe(201);
    expect(made.headers['location']).toBe(`/api/v1/projects/${made.body.id}`);
    const { body: one } = await acme.call('GET', `/projects/${made.body.id}`);
    expect(one).toMatchObject({ ...made.body, updatedAt: made.body.createdAt });
    expect(one.settings).toEqual({
      retentionDays: null,
      auditFailureMode: 'strict',
      timezone: 'UTC',
      webhookDefaults: {},
      redactionKeys: [],
      subjectPointers: [],
      requireTwoPersonErasure: false,
      requireTwoPersonPublish: false,
      quotaMode: 'block',
      contentCapture: 'hashes',
    });
    const { body: all } = await acme.call('GET', '/projects');
    const { settings: _settings, ...listed } = one;
    expect(all.data[0]).toEqual(listed);
    expect(all.data.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['Billing', 'Production']),
    );
    expect((await asPerson(service, 'Zoe')('GET', '/projects')).body.data).toHaveLength(2);
  });

  it('projects are created once under an Idempotency-Key', async () => {
    const options = {
      body: { name: 'Once', environment: 'production' },
      headers: { 'idempotency-key': 'once' },
    };
    const first = await acme.call('POST', '/projects', options);
    const again = await acme.call('POST', '/projects', options);
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    expect(again.headers['idempotent-replayed']).toBe('true');
    const reused = { ...options, body: { ...options.body, name: 'Twice' } };
    expect(said(await acme.call('POST', '/projects', reused))).toEqual([400, 'IDEMPOTENCY_KEY_REUSE']);
  });

  it('projects have a log of their own that records their changes, as the home project does', async () => {
    const { body } = await create('Logged');
    const own = await told(ann, undefined, inProject(body.id));
    expect(own.map(({ eventType }) => eventType)).toEqual(['project.created']);
    expect(own[0]?.metadata).toEqual({
      name: 'Logged',
      environment: 'production',
      organizationId: acme.orgId,
    });
    const [inHome] = await toldOf(acme.call, 'project.created', body.id);
    expect(inHome?.actor.type).toBe('api_key');
    const checkpoint = await ann('GET', '/log/checkpoint', inProject(body.id));
    expect(checkpoint.text.split('\n')[0]).toContain(`/${body.id}/audit`);
  });

  it('projects have unique names in organization and environment, whatever the case', async () => {
    await create('Naming');
    expect(said(await create('NAMING'))).toEqual([400, 'NAME_TAKEN']);
    expect((await create('Naming', 'sandbox', ann)).status).toBe(201);
    expect((await create('Naming', 'production', other.call)).status).toBe(201);
    const { body } = await create('Renamed');
    expect(said(await put(body.id, { name: 'naming' }))).toEqual([400, 'NAME_TAKEN']);
    expect((await put(body.id, { name: 'RENAMED' })).body.name).toBe('RENAMED');
  });

  it.each([
    ['empty', '', 400],
    ['of spaces', '   ', 400],
    ['of a space that has no width', '\u200b\u2060', 400],
    ['with a control character', 'a\u0007b', 400],
    ['with one of 8 bits', 'a\u0085b', 400],
    ['with a line separator', 'a\u2028b', 400],
    ['that turns the direction of writing', '\u202egro.live', 400],
    ['that isolates a direction of writing', 'a\u2066b\u2069', 400],
    ['with a mark of direction', 'a\u200fb', 400],
    ['in Arabic, Hindi and emoji that join', 'نمی\u200cدانم हिन्दी 👩\u200d💻', 201],
    ['of the greatest length', 'n'.repeat(limits.projectNameChars), 201],
    ['one longer', 'n'.repeat(limits.projectNameChars + 1), 400],
  ])('the service accepts or rejects a project with a name %s', async (_, name, status) => {
    const answer = await create(name);
    expect(answer.status).toBe(status);
    if (name.includes('a\u0007')) {
      expect(answer.body.errors[0].detail).toMatch(/^expected a name with at least one visible character, /);
    }
  });

  it('projects keep the settings that a change does not name', async () => {
    const { body: made } = await create('Settings');
    await put(made.id, { settings: { timezone: 'Europe/Zurich', redactionKeys: ['/metadata/ssn'] } });
    const { body } = await put(made.id, { settings: { retentionDays: 400, quotaMode: 'overage' } });
    expect(body.settings).toMatchObject({
      timezone: 'Europe/Zurich',
      redactionKeys: ['/metadata/ssn'],
      retentionDays: 400,
      quotaMode: 'overage',
      auditFailureMode: 'strict',
    });
    expect(Date.parse(body.updatedAt)).toBeGreaterThan(Date.parse(made.createdAt));
    const own = await told(ann, 'project.updated', inProject(made.id));
    expect(own.map(({ metadata }) => metadata['changes'])).toEqual([
      {
        timezone: { from: 'UTC', to: 'Europe/Zurich' },
        redactionKeys: { from: [], to: ['/metadata/ssn'] },
      },
      { retentionDays: { from: null, to: 400 }, quotaMode: { from: 'block', to: 'overage' } },
    ]);
  });

  it('projects show no webhook defaults in the log, because they may contain secrets', async () => {
    const { body } = await create('Hooks');
    await put(body.id, { settings: { webhookDefaults: { token: 'canary-of-a-hook' } } });
    const events = await ann('GET', '/events?runId=gov.system', inProject(body.id));
    expect(events.text).toContain('webhookDefaults');
    expect(events.text).not.toContain('canary-of-a-hook');
  });

  it('projects keep both of two concurrent changes of different settings', async () => {
    const { body } = await create('Parallel');
    const changes = [{ timezone: 'Asia/Tokyo' }, { retentionDays: 500 }, { requireTwoPersonPublish: true }];
    await Promise.all(changes.map((settings) => put(body.id, { settings })));
    const { settings } = (await acme.call('GET', `/projects/${body.id}`)).body;
    expect(settings).toMatchObject(Object.assign({}, ...changes));
    expect(await told(ann, 'project.updated', inProject(body.id))).toHaveLength(3);
  });

  it('projects accept their own answer as a change, and no other read-only values', async () => {
    const { body: made } = await create('Echoed');
    const { body: answered } = await acme.call('GET', `/projects/${made.id}`);
    const same = await put(made.id, answered);
    expect([same.status, same.body]).toEqual([200, answered]);
    expect(await told(ann, 'project.updated', inProject(made.id))).toEqual([]);
    for (const [name, value] of Object.entries({
      id: unknown,
      environment: 'sandbox',
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: null,
    })) {
      const { status, body } = await put(made.id, { [name]: value });
      expect([status, body.code, body.errors[0].pointer]).toEqual([400, 'READ_ONLY_FIELD', `/${name}`]);
    }
  });

  const zones = (count: number) => Array.from({ length: count }, (_, n) => `/metadata/k${n}`);
  it.each([
    ['an unknown setting', { colour: 'red' }, '/settings/colour'],
    ['a time zone that is none', { timezone: 'Mars/Olympus' }, '/settings/timezone'],
    ['an offset for a time zone', { timezone: '+01:00' }, '/settings/timezone'],
    ['retention for 182 days', { retentionDays: 182 }, '/settings/retentionDays'],
    ['retention for 0 days', { retentionDays: 0 }, '/settings/retentionDays'],
    ['retention for too many days', { retentionDays: 36_501 }, '/settings/retentionDays'],
    ['another quota mode', { quotaMode: 'free' }, '/settings/quotaMode'],
    ['a subject that is no pointer', { subjectPointers: ['actor'] }, '/settings/subjectPointers/0'],
    ['a subject of the record', { subjectPointers: ['/runId'] }, '/settings/subjectPointers/0'],
    [
      'too many subjects',
      { subjectPointers: Array.from({ length: 11 }, (_, at) => `/metadata/k${at}`) },
      '/settings/subjectPointers',
    ],
    ['a pointer to what is not redacted', { redactionKeys: ['/runId'] }, '/settings/redactionKeys/0'],
    ['a pointer that is none', { redactionKeys: ['/metadata/~2'] }, '/settings/redactionKeys/0'],
    ['too many pointers', { redactionKeys: zones(limits.redactionKeys + 1) }, '/settings/redactionKeys'],
    ['a pointer twice', { redactionKeys: ['/actor', '/actor'] }, '/settings/redactionKeys'],
    ['too much in all', { webhookDefaults: { filler: 'x'.repeat(limits.settingsBytes) } }, '/settings'],
    ['nothing', undefined, ''],
  ])('projects reject %s', async (_, settings, pointer) => {
    const { status, body } = await put(await home(), settings === undefined ? {} : { settings });
    expect([status, body.errors[0].pointer]).toEqual([400, pointer]);
  });

  it('projects accept settings up to their limits', async () => {
    const { body } = await create('Limits');
    const settings = {
      retentionDays: limits.retentionDaysProduction,
      redactionKeys: zones(limits.redactionKeys),
    };
    expect((await put(body.id, { settings })).status).toBe(200);
    const stored = Buffer.byteLength(JSON.stringify({ ...settings, webhookDefaults: { filler: '' } }));
    const filler = 'x'.repeat(limits.settingsBytes - stored);
    expect((await put(body.id, { settings: { webhookDefaults: { filler } } })).status).toBe(200);
    const over = await put(body.id, { settings: { webhookDefaults: { filler: `${filler}x` } } });
    expect([over.status, over.body.errors[0].limit]).toEqual([400, limits.settingsBytes]);
    const { id } = (await create('Sandboxed', 'sandbox', ann)).body;
    const short = { settings: { retentionDays: 1 } };
    expect((await ann('PUT', `/projects/${id}`, { body: short })).status).toBe(200);
  });

  it('deleted projects are gone with their keys, and their data are kept', async () => {
    const { body: made } = await create('Doomed');
    const { body: key } = await ann('POST', '/api-keys', { ...inProject(made.id), body: { name: 'k' } });
    const ingest = () => service.call('POST', '/events', { key: key.key, body: event() });
    expect((await ingest()).status).toBe(201);
    expect((await acme.call('DELETE', `/projects/${made.id}`)).body).toEqual({ deleted: true });
    expect(said(await ingest())).toEqual([401, 'INVALID_CREDENTIAL']);
    const alike = { headers: { 'x-request-id': 'one-for-both' } };
    const gone = await acme.call('GET', `/projects/${made.id}`, alike);
    const never = await acme.call('GET', `/projects/${unknown}`, alike);
    expect([gone.status, gone.text]).toEqual([404, never.text]);
    expect((await put(made.id, { name: 'Back' })).status).toBe(404);
    expect((await acme.call('DELETE', `/projects/${made.id}`)).status).toBe(404);
    expect((await ann('GET', '/events/count', inProject(made.id))).status).toBe(404);
    expect((await create('Doomed')).status).toBe(201);
    const { store } = service.services;
    expect(await store.countEvents(made.id, { runId: 'run-1' })).toBe(1);
    const [deleted] = await toldOf(acme.call, 'project.deleted', made.id);
    expect(deleted?.metadata).toEqual({ name: 'Doomed' });
  });

  it('the operator can restore projects, unless their name was given away', async () => {
    const { body: made } = await create('Lazarus');
    await acme.call('DELETE', `/projects/${made.id}`);
    const { store, salt } = service.services;
    const stored = await store.storedProject(acme.orgId, made.id);
    const by = { id: 'operator', type: 'operator' } as const;
    const restore = () =>
      store.append({
        projectId: made.id,
        leaves: [projectRestored(stored!, { nowMs: Date.now(), salt, by })],
        meter: { op: 'none', units: 0 },
        effects: [{ kind: 'changeProject', deletedMs: null, atMs: Date.now() }],
      });
    const { body: namesake } = await create('Lazarus');
    await expect(restore()).rejects.toThrow(/Lazarus/);
    await put(namesake.id, { name: 'Other' });
    expect((await restore()).outcome).toBe('stored');
    expect((await acme.call('GET', `/projects/${made.id}`)).body.name).toBe('Lazarus');
  });
});

describe.skipIf(!engines.includes('postgres'))('projects that two processes change at once', () => {
  it('projects that two processes change at once keep every change of either', async () => {
    const service = await startService({ engine: 'postgres' });
    const beside = await service.again();
    const of = await service.signUp('Two');
    const key = of.keys.production;
    const made = await of.call('POST', '/projects', { body: { name: 'P', environment: 'production' } });
    const path = `/projects/${made.body.id}`;
    const changes = [
      { timezone: 'Asia/Tokyo' },
      { retentionDays: 500 },
      { requireTwoPersonPublish: true },
      { quotaMode: 'overage' },
    ];
    const answers = await Promise.all(
      changes.map((settings, n) =>
        (n % 2 === 0 ? service : beside).call('PUT', path, { key, body: { settings } }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const { settings } = (await of.call('GET', path)).body;
    expect(settings).toMatchObject(Object.assign({}, ...changes));
    await service.end();
  });
});

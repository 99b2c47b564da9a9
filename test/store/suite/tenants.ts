/** Tenants: made whole or not at all; people and sessions; projects that change, go and return; the installation. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { Effect } from '../../../src/store/port.ts';
import { sessionKeptMs } from '../../../src/store/tenants.ts';
import { codeOf, event, request, startMs, stored } from '../fixture.ts';
import { open } from '../engine.ts';
import { apply, change, moreProjects, newProject, session, storedProject, tenant, used } from '../tenants.ts';

const set = (more: Omit<Extract<Effect, { kind: 'changeProject' }>, 'kind' | 'atMs'>, atMs = startMs + 1) =>
  ({ kind: 'changeProject', atMs, ...more }) as const;

describe('a new tenant', () => {
  it('is there whole: organization, person, projects with logs, keys', async () => {
    const { store, reopen, drop } = await open();
    const made = tenant('x');
    expect(await store.createTenant(made)).toEqual({ outcome: 'stored' });
    const again = await reopen();
    expect(await again.organization('org_x')).toEqual(made.organization);
    expect(await again.user('https://issuer.test', 'x')).toEqual(made.user);
    expect(await again.projects('org_x')).toEqual(made.projects.map(({ stored: each }) => each).toReversed());
    for (const { stored: each, keys } of made.projects) {
      const { projectId } = each.project;
      expect(await again.project(projectId)).toEqual(each.project);
      expect(await again.storedProject('org_x', projectId)).toEqual(each);
      expect(await again.apiKey(keys[0]!.digest)).toEqual({
        key: keys[0],
        project: each.project,
        stored: each,
      });
      expect((await again.head(projectId, 'audit')).size).toBe(2);
      expect((await again.leaf(projectId, 0))?.record).toContain('gov.genesis/1');
      expect((await again.run(projectId, 'gov.system'))?.events).toBe(1);
      const { used: units } = await stored(again, request([event()], { projectId }));
      expect(units).toBe(1);
    }
    await drop();
  });

  it('with a person who is known is refused whole', async () => {
    const { store, reopen, drop } = await open();
    await store.createTenant(tenant('x'));
    const user = { ...tenant('x').user!, userId: 'usr_y', organizationId: 'org_y' };
    expect(await codeOf(store.createTenant(tenant('y', { user })))).toBe('USER_EXISTS');
    const again = await reopen();
    expect(await again.organization('org_y')).toBeNull();
    expect(await again.project('prj_y_live')).toBeNull();
    expect((await again.user('https://issuer.test', 'x'))?.organizationId).toBe('org_x');
    expect(await again.user('https://other.test', 'x')).toBeNull();
    await drop();
  });

  it('of one person is made once, whatever comes at the same time', async () => {
    const { store, drop } = await open();
    const user = (name: string) => ({
      ...tenant('x').user!,
      userId: `usr_${name}`,
      organizationId: `org_${name}`,
    });
    const names = ['a', 'b', 'c', 'd', 'e'];
    const results = await Promise.all(
      names.map((name) => codeOf(store.createTenant(tenant(name, { user: user(name) })))),
    );
    expect(results.toSorted()).toEqual([...Array<string>(4).fill('USER_EXISTS'), 'none'].toSorted());
    const found = await Promise.all(names.map((name) => store.organization(`org_${name}`)));
    expect(found.filter((each) => each !== null)).toHaveLength(1);
    await drop();
  });

  it('that cannot be stored is refused alone: its neighbours are', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const [first] = tenant('bad').projects;
    const [, known] = tenant('x').projects;
    const broken = tenant('bad', { projects: [first!, known!] });
    const [whole, other] = tenant('cut').projects;
    const unlogged = tenant('cut', {
      projects: [whole!, { ...other!, leaves: [event({ clientEventId: 'c1' })] }],
    });
    const results = await Promise.allSettled([
      store.append(request([event()])),
      store.createTenant(tenant('y')),
      store.createTenant(broken),
      store.createTenant(unlogged),
      store.append(request([event()], { projectId: 'prj_x_live' })),
      store.createTenant(tenant('z')),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'fulfilled', 'rejected', 'rejected', 'fulfilled', 'fulfilled'],
    ]);
    for (const name of ['bad', 'cut']) {
      expect(await store.organization(`org_${name}`)).toBeNull();
      expect(await store.user('https://issuer.test', name)).toBeNull();
      expect(await store.project(`prj_${name}_live`)).toBeNull();
    }
    expect(results[2]).toMatchObject({ reason: { code: 'CONFLICT' } });
    expect(results[3]).toMatchObject({ reason: { code: 'INTERNAL' } });
    expect((await store.head('prj_y_live', 'audit')).size).toBe(2);
    expect((await store.head('prj_x_live', 'audit')).size).toBe(3);
    expect(store.condition()).toEqual({ writable: true, reasons: [], queued: 0 });
    await drop();
  });

  it('keeps its answer in a project of its own', async () => {
    const { store, reopen, drop } = await open();
    const response = { status: 201, body: '{"orgId":"org_x"}', headers: {} };
    const idempotency = { key: 'k', fingerprint: 'f', response, projectId: 'prj_x_live' };
    expect(await store.createTenant(tenant('x', { idempotency }))).toEqual({ outcome: 'stored' });
    const again = await reopen();
    expect(await again.keptResponse('prj_x_live', 'k')).toEqual({ fingerprint: 'f', response });
    expect((await again.head('prj_x_live', 'audit')).size).toBe(2);
    await drop();
  });

  it('is answered from what was kept where it is asked for again', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const response = { status: 201, body: '{"projectId":"prj_x_more"}', headers: {} };
    const idempotency = { key: 'k', fingerprint: 'f', response, projectId: 'prj_x_live' };
    const made = { ...moreProjects(storedProject('x', 'more')), idempotency };
    const both = await Promise.all([store.createTenant(made), store.createTenant(made)]);
    expect(both).toEqual([{ outcome: 'stored' }, { outcome: 'replayed', response }]);
    expect(await store.createTenant({ ...made, idempotency: { ...idempotency, fingerprint: 'g' } })).toEqual({
      outcome: 'key_reused',
    });
    expect((await store.keptResponse('prj_x_live', 'k'))?.response).toEqual(response);
    expect((await store.head('prj_x_more', 'audit')).size).toBe(2);
    const taken = { ...made, idempotency: { ...idempotency, key: 'l' } };
    expect(await codeOf(store.createTenant(taken))).toBe('NAME_TAKEN');
    expect(await store.keptResponse('prj_x_live', 'l')).toBeNull();
    await drop();
  });
});

describe('names of projects', () => {
  it('are unique in organization and environment, without case, however accents are encoded', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await store.createTenant(tenant('y'));
    const make = (
      org: string,
      name: string,
      id = name,
      environment: 'production' | 'sandbox' = 'production',
    ) => {
      const { project, ...rest } = storedProject(org, id, { environment });
      return codeOf(store.createTenant(moreProjects({ ...rest, project, name })));
    };
    expect(await make('x', 'Café', '1')).toBe('none');
    expect(await make('x', 'CAFE\u0301', '2')).toBe('NAME_TAKEN');
    expect(await make('x', 'LIVE', '3')).toBe('NAME_TAKEN');
    expect(await make('x', 'Café', '4', 'sandbox')).toBe('none');
    expect(await make('y', 'Café', '5')).toBe('none');
    expect(await make('x', 'Straße', '6')).toBe('none');
    expect(await make('x', 'STRASSE', '7')).toBe('none');
    expect(await make('x', 'ИМЯ', '8')).toBe('none');
    expect(await make('x', 'имя', '9')).toBe('NAME_TAKEN');
    await drop();
  });

  it('are not given twice in one go, nor to two at the same time', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const named = (id: string) => ({ ...storedProject('x', id), name: 'same' });
    expect(await codeOf(store.createTenant(moreProjects(named('1'), named('2'))))).toBe('NAME_TAKEN');
    const codes = await Promise.all(
      ['1', '2', '3'].map((id) => codeOf(store.createTenant(moreProjects(named(id))))),
    );
    expect(codes.toSorted()).toEqual(['NAME_TAKEN', 'NAME_TAKEN', 'none']);
    await drop();
  });
});

describe('projects of an organization', () => {
  it('are at most as many as the limit says, not counting deleted ones', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const count = limits.projectsPerOrganization - 2;
    const bare = (at: number) => ({ ...newProject(storedProject('x', `n${at}`)), keys: [] });
    const many = { ...moreProjects(), projects: Array.from({ length: count }, (_, at) => bare(at)) };
    const { projects } = many;
    expect(await codeOf(store.createTenant({ ...many, projects: [...projects, bare(-1)] }))).toBe('CONFLICT');
    expect(await store.createTenant(many)).toEqual({ outcome: 'stored' });
    expect(await store.projects('org_x')).toHaveLength(limits.projectsPerOrganization);
    const more = moreProjects(storedProject('x', 'more'));
    expect(await codeOf(store.createTenant(more))).toBe('CONFLICT');
    await stored(store, change('prj_x_n7', set({ deletedMs: startMs + 1 })));
    expect(await store.createTenant(more)).toEqual({ outcome: 'stored' });
    await store.createTenant(tenant('y'));
    await drop();
  });

  it('are listed newest first, and found by those of the organization alone', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await store.createTenant(tenant('y'));
    const later = storedProject('x', 'later', { createdMs: startMs + 5 });
    await store.createTenant(moreProjects(later));
    const ids = async (org: string) => (await store.projects(org)).map(({ project }) => project.projectId);
    expect(await ids('org_x')).toEqual(['prj_x_later', 'prj_x_test', 'prj_x_live']);
    expect(await ids('org_none')).toEqual([]);
    expect(await store.storedProject('org_x', 'prj_x_later')).toEqual(later);
    expect(await store.storedProject('org_y', 'prj_x_later')).toBeNull();
    expect(await store.storedProject('org_x', 'prj_none')).toBeNull();
    await drop();
  });

  it('tell what each of them used in a month', async () => {
    const { store, clock, drop } = await open();
    await store.createTenant(tenant('x'));
    await store.createTenant(tenant('y'));
    const append = async (projectId: string, events: number) =>
      stored(
        store,
        request(
          Array.from({ length: events }, () => event()),
          { projectId },
        ),
      );
    await append('prj_x_live', 3);
    await append('prj_y_live', 9);
    clock.ms = Date.UTC(2026, 1, 1);
    await append('prj_x_live', 2);
    await append('prj_x_test', 4);
    expect(await store.usageOf('org_x', '2026-01')).toEqual([
      { projectId: 'prj_x_test', used: used({}) },
      { projectId: 'prj_x_live', used: used({ audit_event: 3 }) },
    ]);
    await stored(store, change('prj_x_test', set({ deletedMs: startMs })));
    expect(await store.usageOf('org_x', '2026-02')).toEqual([
      { projectId: 'prj_x_live', used: used({ audit_event: 2 }) },
    ]);
    expect(await store.usage('prj_x_test', '2026-02')).toEqual(used({ audit_event: 4 }));
    expect(await store.usageOf('org_none', '2026-02')).toEqual([]);
    await drop();
  });
});

describe('a project', () => {
  it('is changed in what is given; the rest of it stays', async () => {
    const { store, reopen, drop } = await open();
    await store.createTenant(tenant('x'));
    const settings = '{"retentionDays":30,"timezone":"Europe/Berlin"}';
    await stored(store, change('prj_x_live', set({ settings })));
    await stored(
      store,
      change('prj_x_live', set({ quotas: { audit_event: 5, risk_decision: null } }, startMs + 2)),
    );
    await stored(store, change('prj_x_live', set({ name: 'Überblick' }, startMs + 3)));
    const again = await reopen();
    expect(await again.storedProject('org_x', 'prj_x_live')).toEqual({
      ...storedProject('x', 'live'),
      name: 'Überblick',
      settings,
      quotas: { audit_event: 5, risk_decision: null },
      updatedMs: startMs + 3,
    });
    expect(await again.storedProject('org_x', 'prj_x_test')).toEqual(tenant('x').projects[1]?.stored);
    await drop();
  });

  it('does not take the name of another one, but may write its own in another way', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await store.createTenant(moreProjects(storedProject('x', 'other')));
    expect(await codeOf(apply(store, 'prj_x_live', set({ name: 'OTHER' })))).toBe('NAME_TAKEN');
    await stored(store, change('prj_x_live', set({ name: 'LIVE' })));
    await stored(store, change('prj_x_test', set({ name: 'other' })));
    const both = await Promise.all(
      ['prj_x_live', 'prj_x_other'].map((id) => codeOf(apply(store, id, set({ name: 'contested' })))),
    );
    expect(both.toSorted()).toEqual(['NAME_TAKEN', 'none']);
    expect(
      (await store.head('prj_x_live', 'audit')).size + (await store.head('prj_x_other', 'audit')).size,
    ).toBe(2 + 2 + 1 + 1);
    await drop();
  });

  it('that is deleted changes no more, is listed no more, and keeps its log', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const gone = set({ deletedMs: startMs + 9 }, startMs + 9);
    await stored(store, change('prj_x_live', gone));
    expect(await codeOf(apply(store, 'prj_x_live', gone))).toBe('NOT_FOUND');
    expect(await codeOf(apply(store, 'prj_x_live', set({ name: 'new' })))).toBe('NOT_FOUND');
    expect((await store.projects('org_x')).map(({ name }) => name)).toEqual(['test']);
    expect(await store.storedProject('org_x', 'prj_x_live')).toMatchObject({
      deletedMs: startMs + 9,
      updatedMs: startMs + 9,
      name: 'live',
    });
    const found = await store.apiKey(newProject(storedProject('x', 'live')).keys[0]!.digest);
    expect(found?.stored?.deletedMs).toBe(startMs + 9);
    expect((await store.head('prj_x_live', 'audit')).size).toBe(3);
    await drop();
  });

  it('returns where its name is still free', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await stored(store, change('prj_x_live', set({ deletedMs: startMs + 9 })));
    await store.createTenant(moreProjects({ ...storedProject('x', 'second'), name: 'Live' }));
    expect(await codeOf(apply(store, 'prj_x_live', set({ deletedMs: null })))).toBe('NAME_TAKEN');
    await stored(store, change('prj_x_live', set({ deletedMs: null, name: 'first' }, startMs + 10)));
    expect(await store.storedProject('org_x', 'prj_x_live')).toEqual({
      ...storedProject('x', 'live'),
      name: 'first',
      updatedMs: startMs + 10,
    });
    await drop();
  });

  it('of a plane has nothing that changes', async () => {
    const { store, drop } = await open();
    expect(await codeOf(apply(store, 'prj_a', set({ name: 'new' })))).toBe('NOT_FOUND');
    expect(await store.storedProject('org_test', 'prj_a')).toBeNull();
    expect(await store.projects('org_test')).toEqual([]);
    await drop();
  });
});

describe('sessions', () => {
  const opened = (name: string, more: Parameters<typeof session>[1] = {}): Effect => ({
    kind: 'openSession',
    session: session(name, more),
  });

  it('are found by the digest of their token with person and organization, and end once', async () => {
    const { store, reopen, drop } = await open();
    await store.createTenant(tenant('x'));
    await stored(store, change('prj_x_live', opened('x', { kind: 'cli' })));
    const { digest } = session('x');
    expect(await store.session(digest)).toEqual({
      session: session('x', { kind: 'cli' }),
      user: tenant('x').user,
      organization: tenant('x').organization,
    });
    expect(await store.session(Buffer.alloc(32, 7))).toBeNull();
    for (const atMs of [startMs + 5, startMs + 6])
      await stored(store, change('prj_x_live', { kind: 'endSession', digest, atMs }));
    await stored(store, change('prj_x_live', { kind: 'endSession', digest: Buffer.alloc(32, 7), atMs: 1 }));
    const again = await reopen();
    expect((await again.session(digest))?.session.endedMs).toBe(startMs + 5);
    await drop();
  });

  it('are opened with the leaf that tells of it, or not at all', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const refused = apply(store, 'prj_x_live', opened('x'), {
      kind: 'revokeApiKey',
      keyId: 'key_none',
      revokedMs: startMs,
      atMs: startMs,
    });
    expect(await codeOf(refused)).toBe('NOT_FOUND');
    expect(await store.session(session('x').digest)).toBeNull();
    await drop();
  });

  it('are dropped a day after they ran out', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await stored(store, change('prj_x_live', opened('x')));
    const { digest, expiresMs } = session('x');
    await store.sweep(expiresMs + sessionKeptMs);
    expect(await store.session(digest)).not.toBeNull();
    await store.sweep(expiresMs + sessionKeptMs + 1);
    expect(await store.session(digest)).toBeNull();
    await drop();
  });
});

describe('an organization', () => {
  it('has a customer number of the payment provider, or none', async () => {
    const { store, reopen, drop } = await open();
    await store.createTenant(tenant('x'));
    await store.createTenant(tenant('y'));
    const customer = (customerId: string | null): Effect => ({
      kind: 'setCustomer',
      organizationId: 'org_x',
      customerId,
    });
    await stored(store, change('prj_x_live', customer('cus_1')));
    const again = await reopen();
    expect((await again.organization('org_x'))?.customerId).toBe('cus_1');
    expect((await again.organization('org_y'))?.customerId).toBeNull();
    await stored(again, change('prj_x_live', customer(null)));
    expect(await again.organization('org_x')).toEqual(tenant('x').organization);
    expect(await again.organization('org_none')).toBeNull();
    await drop();
  });
});

describe('an installation', () => {
  it('keeps what the first process said about it', async () => {
    const { store, reopen, drop } = await open();
    expect(await store.installation()).toBeNull();
    const both = await Promise.all([store.claimInstallation('first'), store.claimInstallation('second')]);
    expect(both[0]).toBe(both[1]);
    const again = await reopen();
    expect(await again.claimInstallation('third')).toBe(both[0]);
    expect(await again.installation()).toBe(both[0]);
    await drop();
  });
});

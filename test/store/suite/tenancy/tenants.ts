/** Tenants: made whole or not at all; people and their sessions; organizations; the installation. */
import { describe, expect, it } from 'vitest';
import type { Effect } from '../../../../src/store/port/store.ts';
import { sessionKeptMs } from '../../../../src/store/rules/tenants.ts';
import { codeOf, event, request, startMs, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';
import { apply, change, moreProjects, session, storedProject, tenant } from '../../support/tenants.ts';

describe('a new tenant', () => {
  it('a new tenant has its organization, person, projects with logs, and keys', async () => {
    const { store, reopen, drop } = await open();
    const made = tenant('x');
    expect(await store.createTenant(made)).toEqual({ outcome: 'stored' });
    const again = await reopen();
    expect(await again.organization('org_x')).toEqual(made.organization);
    expect(await again.user('https://issuer.test', 'x')).toEqual(made.user);
    expect(await again.userOf('org_x', made.user!.userId)).toEqual(made.user);
    expect(await again.userOf('org_other', made.user!.userId)).toBeNull();
    expect(await again.projects('org_x')).toEqual(
      made.projects
        .map(({ stored: { settings: _settings, quotas: _quotas, deletedMs: _deleted, ...named } }) => named)
        .toReversed(),
    );
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

  it('a new tenant with a known person is refused as a whole', async () => {
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

  it('a person who signs up several times at once gets one tenant', async () => {
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

  it('a new tenant that cannot be stored is refused alone, and others are stored', async () => {
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
    const refused = results.map(({ status }) => status === 'rejected');
    expect(refused).toEqual([false, false, true, true, false, false]);
    for (const name of ['bad', 'cut']) {
      expect(await store.organization(`org_${name}`)).toBeNull();
      expect(await store.user('https://issuer.test', name)).toBeNull();
      expect(await store.project(`prj_${name}_live`)).toBeNull();
    }
    expect(results[2]).toMatchObject({ reason: { code: 'CONFLICT' } });
    expect(results[3]).toMatchObject({ reason: { code: 'INTERNAL' } });
    expect((await store.head('prj_y_live', 'audit')).size).toBe(2);
    expect((await store.head('prj_x_live', 'audit')).size).toBe(3);
    expect(store.condition()).toEqual({ writable: true, reasons: [], altered: [], queued: 0 });
    await drop();
  });

  it('a new tenant keeps its answer in one of its own projects', async () => {
    const { store, reopen, drop } = await open();
    const response = { status: 201, body: '{"orgId":"org_x"}', headers: {} };
    const idempotency = { key: 'k', fingerprint: 'f', response, projectId: 'prj_x_live' };
    expect(await store.createTenant(tenant('x', { idempotency }))).toEqual({ outcome: 'stored' });
    const again = await reopen();
    expect(await again.keptResponse('prj_x_live', 'k')).toEqual({ fingerprint: 'f', response });
    expect((await again.head('prj_x_live', 'audit')).size).toBe(2);
    await drop();
  });

  it('a repeated request for projects gets the stored answer', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const response = { status: 201, body: '{"projectId":"prj_x_more"}', headers: {} };
    const idempotency = { key: 'k', fingerprint: 'f', response, projectId: 'prj_x_live' };
    const made = { ...moreProjects(storedProject('x', 'more')), idempotency };
    const both = await Promise.all([store.createTenant(made), store.createTenant(made)]);
    // on PostgreSQL whichever connection comes first
    const inTurn = both.toSorted((one, other) => other.outcome.localeCompare(one.outcome));
    expect(inTurn).toEqual([{ outcome: 'stored' }, { outcome: 'replayed', response }]);
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

describe('sessions', () => {
  const opened = (name: string, more: Parameters<typeof session>[1] = {}): Effect => ({
    kind: 'openSession',
    session: session(name, more),
  });

  it('a session is found by the digest of its token, with its person, and ends once', async () => {
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
    const end = (ended: Buffer, atMs: number) =>
      codeOf(apply(store, 'prj_x_live', { kind: 'endSession', digest: ended, atMs }));
    const both = [end(Buffer.from(digest), startMs + 5), end(Buffer.from(digest), startMs + 6)];
    expect(await Promise.all(both)).toEqual(['none', 'NOT_FOUND']);
    expect(await end(Buffer.from(digest), startMs + 7)).toBe('NOT_FOUND');
    expect(await end(Buffer.alloc(32, 7), 1)).toBe('NOT_FOUND');
    expect((await store.head('prj_x_live', 'audit')).size).toBe(2 + 2);
    const again = await reopen();
    expect((await again.session(digest))?.session.endedMs).toBe(startMs + 5);
    await drop();
  });

  it('a session is opened together with its leaf or not at all', async () => {
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

  it('a session is removed a day after it expired', async () => {
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
  it('an organization has a customer number of the payment provider, or none', async () => {
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
    const named = (organizationId: string): Effect => ({
      kind: 'setCustomer',
      organizationId,
      customerId: 'cus_2',
    });
    expect(await codeOf(apply(again, 'prj_x_live', named('org_y')))).toBe('NOT_FOUND');
    expect(await codeOf(apply(again, 'prj_x_live', named('org_none')))).toBe('NOT_FOUND');
    expect(await codeOf(apply(again, 'prj_a', named('org_x')))).toBe('NOT_FOUND');
    expect((await again.organization('org_y'))?.customerId).toBeNull();
    await stored(again, change('prj_x_live', customer(null)));
    expect(await again.organization('org_x')).toEqual(tenant('x').organization);
    expect(await again.organization('org_none')).toBeNull();
    await drop();
  });
});

describe('an installation', () => {
  it('an installation keeps the value that the first process claimed', async () => {
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

/**
 * Sign-up and identity over real sockets on both engines, with tokens of a provider on loopback: contract C8, D6, I1,
 * O8, S41. The same against a real OpenID provider: `auth-provider.test.ts`.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { clientId } from '../../host/identity/issuer.ts';
import { engines, startService, type TestService } from '../../support/hosted.ts';
import { eventsOf } from '../support/accounts.ts';

describe.each(engines)('accounts on %s', (engine) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ engine });
  });
  afterAll(() => service.end());

  const signUp = async (name: string, body: unknown = { name, organizationName: name }, headers = {}) =>
    service.call('POST', '/auth/signup', { key: await service.idToken(name), body, headers });
  const identity = (options: object) => service.call('GET', '/auth/identity', options);

  describe('sign-up', () => {
    it('sign-up creates an organization with two projects and a key for each', async () => {
      const { status, body, headers } = await signUp('ada', { name: 'Ada', organizationName: 'Analytical' });
      expect(status).toBe(201);
      expect(headers['cache-control']).toBe('no-store');
      expect(Object.keys(body)).toEqual(['orgId', 'organizationId', 'projectId', 'apiKeys']);
      expect(body.organizationId).toBe(body.orgId);
      const { apiKeys, projectId, orgId } = body;
      const test = await service.call('GET', `${service.origin}/sandbox/api/v1/auth/identity`, {
        key: apiKeys.sandbox,
      });
      expect(test.body).toEqual({
        type: 'api_key',
        id: expect.stringMatching(/^key_/),
        name: 'Sign-up key',
        organizationId: orgId,
        organizationName: 'Analytical',
        projectId,
        projectName: 'Sandbox',
        environment: 'sandbox',
        scopes: ['*'],
        expiresAt: null,
      });
      const live = await identity({ key: apiKeys.production });
      expect(live.body).toMatchObject({
        projectName: 'Production',
        environment: 'production',
        scopes: ['*'],
      });
      const projects = await service.call('GET', '/projects', { key: await service.idToken('ada') });
      expect(projects.body.data.map(({ name }: { name: string }) => name).sort()).toEqual([
        'Production',
        'Sandbox',
      ]);
    });

    it('sign-up records all of it in the logs of the two projects, and no name of a person', async () => {
      const tenant = await service.signUp('grace', { name: 'Grace Hopper', organizationName: 'Flow-Matic' });
      const { body: projects } = await tenant.call('GET', '/projects');
      const ids = Object.fromEntries(
        projects.data.map(({ environment, id }: { environment: string; id: string }) => [environment, id]),
      );
      const [organization, project, key, ...others] = await eventsOf(tenant);
      expect(others).toEqual([]);
      expect(organization).toMatchObject({
        eventType: 'organization.created',
        actor: { id: expect.stringMatching(/^usr_/), type: 'person' },
        resource: { id: tenant.orgId, type: 'organization' },
        metadata: { name: 'Flow-Matic', home: ids },
      });
      const by = organization?.actor;
      expect(project).toMatchObject({
        eventType: 'project.created',
        actor: by,
        resource: { id: ids['production'], type: 'project' },
      });
      expect(key).toMatchObject({
        eventType: 'api_key.created',
        actor: by,
        metadata: { name: 'Sign-up key', prefix: tenant.keys.production.slice(0, 13), scopes: ['*'] },
      });
      const sandbox = await eventsOf(tenant, 'sandbox');
      expect(sandbox.map(({ eventType }) => eventType)).toEqual(['project.created', 'api_key.created']);
      expect(JSON.stringify([organization, project, key, sandbox])).not.toContain('Grace');
      const proof = await tenant.call('POST', '/proofs', { body: { runId: 'gov.system' } });
      expect([proof.status, proof.body.layers[0]]).toMatchObject([201, { verified: true }]);
    });

    it('sign-up happens once: a known person gets an error, and nothing else', async () => {
      const tenant = await service.signUp('mary', { organizationName: 'Royal' });
      const again = await signUp('mary', { name: 'Mary', organizationName: 'Other' });
      expect([again.status, again.body.code]).toEqual([409, 'USER_EXISTS']);
      for (const known of [tenant.orgId, tenant.projectId, 'Royal', 'mary']) {
        expect(again.text).not.toContain(known);
      }
    });

    it('sign-up of one person ten times at once happens once', async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => signUp('joan')));
      expect(answers.map(({ status }) => status).sort()).toEqual([
        201,
        ...Array.from({ length: 9 }, () => 409),
      ]);
      const { orgId, apiKeys } = answers.find(({ status }) => status === 201)?.body ?? {};
      const { body } = await identity({ key: apiKeys.production });
      expect(body.organizationId).toBe(orgId);
    });

    it('sign-up of two people with one name creates two organizations', async () => {
      const [one, other] = [await service.signUp('jean-1'), await service.signUp('jean-2')];
      expect(one.orgId).not.toBe(other.orgId);
    });

    it('sign-up under an Idempotency-Key returns the same keys again', async () => {
      const header = { 'idempotency-key': 'sign-up-1' };
      const body = { name: 'Hedy', organizationName: 'Hopping' };
      const first = await signUp('hedy', body, header);
      const second = await signUp('hedy', body, header);
      expect([first.status, second.status]).toEqual([201, 201]);
      expect(second.text).toBe(first.text);
      expect(second.headers['idempotent-replayed']).toBe('true');
      const other = await signUp('hedy', { ...body, name: 'Hedwig' }, header);
      expect([other.status, other.body.code]).toEqual([400, 'IDEMPOTENCY_KEY_REUSE']);
      expect((await signUp('hedy', body, { 'idempotency-key': 'sign-up-2' })).status).toBe(409);
      // the key is the person's own
      const stranger = await signUp('lise', body, header);
      expect(stranger.status).toBe(201);
      expect(stranger.body.orgId).not.toBe(first.body.orgId);
    });

    it('sign-up under one Idempotency-Key, five times at once, returns the same keys five times', async () => {
      const header = { 'idempotency-key': 'sign-up-3' };
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => signUp('rosalind', undefined, header)),
      );
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(answers[0]?.status).toBe(201);
    });

    it('sign-up needs a name and an organization of 1 to 200 characters without control characters', async () => {
      const n = limits.accountNameChars;
      const statusOf = async (name: string, members: object): Promise<number> =>
        (await signUp(name, { name: 'a', organizationName: 'a', ...members })).status;
      expect(await statusOf('long', { name: 'é'.repeat(n), organizationName: '𝄞'.repeat(n) })).toBe(201);
      const refused = [
        { name: 'a'.repeat(n + 1) },
        { organizationName: 'a'.repeat(n + 1) },
        { name: '' },
        { name: '  ' },
        { name: 'a\nb' },
        { organizationName: 'a\u009bb' },
        { name: 7 },
        { name: undefined },
        { role: 'admin' },
      ];
      for (const members of refused)
        expect(await statusOf('nobody', members), JSON.stringify(members)).toBe(400);
      expect(await statusOf('nobody', {})).toBe(201);
    });

    it('sign-up needs an ID token', async () => {
      const body = { name: 'a', organizationName: 'a' };
      const { keys } = await service.signUp('alan');
      const cases: [string | null, string][] = [
        [null, 'UNAUTHENTICATED'],
        [keys.production, 'INVALID_CREDENTIAL'],
        ['a.b.c', 'INVALID_CREDENTIAL'],
        [await service.idToken('new', { aud: 'other' }), 'INVALID_CREDENTIAL'],
        [await service.idToken('new', { exp: 1 }), 'INVALID_CREDENTIAL'],
        [await service.idToken('a\u0000b'), 'INVALID_CREDENTIAL'],
      ];
      for (const [key, code] of cases) {
        const answer = await service.call('POST', '/auth/signup', { key, body });
        expect([answer.status, answer.body.code]).toEqual([401, code]);
        expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="gov"/);
      }
    });

    it('sign-up accepts a token from an earlier sign-in, within its hour', async () => {
      const key = await service.idToken('slow', { auth_time: Math.floor(Date.now() / 1000) - 3000 });
      const body = { name: 'a', organizationName: 'a' };
      expect((await service.call('POST', '/auth/signup', { key, body })).status).toBe(201);
    });
  });

  it('the identity of an ID token shows its owner and its expiry', async () => {
    await service.signUp('bearer', { name: 'Bearer' });
    const exp = Math.floor(Date.now() / 1000) + 500;
    const { body } = await identity({ key: await service.idToken('bearer', { exp }) });
    expect(body).toMatchObject({
      type: 'person',
      name: 'Bearer',
      expiresAt: new Date(exp * 1000).toISOString(),
    });
  });

  it('the identity of a key shows its owner and its expiry', async () => {
    const tenant = await service.signUp('ending');
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { body: made } = await tenant.call('POST', '/api-keys', {
      body: { name: 'CI', scopes: ['events:read'], expiresAt },
    });
    const { body } = await identity({ key: made.key });
    expect(body).toMatchObject({ type: 'api_key', name: 'CI', scopes: ['events:read'], expiresAt });
  });

  it('the service shows where people sign in', async () => {
    const { body } = await service.call('GET', '/auth/configuration');
    expect(body).toEqual({ issuer: service.issuer.url, clientId, scopes: ['openid', 'email'] });
  });
});

describe('a service without an identity provider', () => {
  it('a service without an identity provider says so, and lets nobody sign in', async () => {
    const service = await startService({ file: { issuer: undefined as never } });
    const configuration = await service.call('GET', '/auth/configuration');
    expect([configuration.status, configuration.body.code]).toEqual([404, 'NOT_FOUND']);
    const idToken = await service.idToken('ada');
    const body = { name: 'a', organizationName: 'a' };
    for (const answer of [
      await service.call('POST', '/auth/signup', { key: idToken, body }),
      await service.call('POST', '/auth/session', { body: { idToken } }),
      await service.call('POST', '/auth/tokens', { body: { idToken } }),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([401, 'INVALID_CREDENTIAL']);
      expect(answer.body.detail).toContain('no identity provider is configured');
    }
    await service.end();
  });
});

describe('an identity provider that is away', () => {
  it('the service asks the client to retry while the identity provider is unreachable', async () => {
    const service = await startService();
    const idToken = await service.idToken('ada');
    await service.issuer.pause();
    const answer = await service.call('POST', '/auth/session', { body: { idToken } });
    expect([answer.status, answer.body.code]).toEqual([503, 'UNAVAILABLE']);
    expect(answer.headers['retry-after']).toBe(String(limits.issuerRetrySeconds));
    await service.issuer.resume();
    await service.end();
  });
});

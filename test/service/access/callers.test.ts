/** Changes that must not outlive the credential they are asked with, while this process still believes it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { table, type OperationId } from '../../../src/contract/table.ts';
import { keyDigest } from '../../../src/service/credentials/token-format.ts';
import type { Effect } from '../../../src/store/port/store.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { customers, startStripe, stripeKey, type StripeServer } from '../../host/identity/stripe.ts';
import { event } from '../../support/serving.ts';
import { governing } from '../support/governed.ts';
import { said } from '../support/tenants.ts';
import { sshPublicKey } from '../../support/rows.ts';

const unmetered = { op: 'none', units: 0 } as const;

/** What a credential could make itself permanent by, or spoil after it has ended. */
const guarded = new Set([
  'keys:write',
  'projects:write',
  'billing:write',
  'approvals:decide',
  'erasure:write',
]);
/** They answer a text to sign, and change nothing. */
const harmless: ReadonlySet<OperationId> = new Set(['challengeApprover', 'stateApproval'] as const);
const wanted = (Object.keys(table) as OperationId[]).filter(
  (id) => table[id].method !== 'GET' && guarded.has(table[id].scope ?? '') && !harmless.has(id),
);

interface Made {
  readonly projectId: string;
  readonly otherId: string;
  readonly keyId: string;
  readonly approvalId: string;
  readonly approverId: string;
  readonly eventId: string;
}
/** Of the key pair whose private half is the seed of 32 one bytes. */
const otherSshKey =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c ghost@example';
type Sent = readonly [method: string, path: string, body?: unknown];

const asked: Partial<Record<OperationId, (made: Made) => Sent>> = {
  createApiKey: () => ['POST', '/api-keys', { name: 'persist' }],
  updateApiKey: ({ keyId }) => ['PUT', `/api-keys/${keyId}`, { scopes: ['*'], name: 'wider' }],
  revokeApiKey: ({ keyId }) => ['DELETE', `/api-keys/${keyId}`],
  rotateApiKey: ({ keyId }) => ['POST', `/api-keys/${keyId}/rotate`],
  createProject: () => ['POST', '/projects', { name: 'ghost', environment: 'production' }],
  updateProject: ({ otherId }) => ['PUT', `/projects/${otherId}`, { settings: { retentionDays: 365 } }],
  deleteProject: ({ otherId }) => ['DELETE', `/projects/${otherId}`],
  putThresholds: () => ['PUT', '/metering/thresholds', { percents: [42] }],
  putRetention: () => ['PUT', '/billing/retention', { retentionDays: 365, legalHold: true }],
  openBillingPortal: () => ['POST', '/billing/portal', { returnUrl: 'https://app.example.com/' }],
  decideApproval: ({ approvalId }) => ['POST', `/approvals/${approvalId}/decision`, { outcome: 'approved' }],
  enrolApprover: () => ['POST', '/approvers', { name: 'ghost', ssh: { publicKey: otherSshKey } }],
  revokeApprover: ({ approverId }) => ['DELETE', `/approvers/${approverId}`],
  createErasure: ({ eventId }) => ['POST', '/erasures', { eventId }],
};

describe.each(engines)('what must not outlive its credential, on %s', (engine) => {
  let stripe: StripeServer;
  let service: TestService;
  let acme: Tenant;
  let made: Made;
  beforeAll(async () => {
    stripe = await startStripe();
    service = await startService({
      engine,
      env: { GOV_STRIPE_KEY: stripeKey },
      file: { billing: { baseUrl: stripe.url }, returnHosts: ['app.example.com'] },
    });
    acme = await service.signUp('Ann');
    const { projectId } = (await acme.call('GET', '/auth/identity')).body;
    await apply(projectId, { kind: 'setCustomer', organizationId: acme.orgId, customerId: customers[0]! });
    const other = await acme.call('POST', '/projects', {
      body: { name: 'other', environment: 'production' },
    });
    const governed = governing({ call: acme.call, keys: {} as never });
    await governed.policy('p', { 'tool.name': 'mail' }, 'escalate');
    const { approvalId } = await governed.tool('run', 'mail');
    const { keyId } = await keyWith('*');
    const { eventId } = (await acme.call('POST', '/events', { body: event() })).body;
    const enrolled = await acme.call('POST', '/approvers', {
      body: { name: 'Ann', ssh: { publicKey: sshPublicKey } },
    });
    const { approverId } = enrolled.body;
    made = { projectId, otherId: other.body.id, keyId, approvalId: approvalId!, approverId, eventId };
  });
  afterAll(async () => {
    await service.end();
    await stripe.stop();
  });

  /** As another process does it: this one is not told. */
  const apply = async (projectId: string, effect: Effect): Promise<void> => {
    await service.services.store.append({ projectId, leaves: [], meter: unmetered, effects: [effect] });
  };
  const keyWith = async (...scopes: string[]): Promise<{ key: string; keyId: string }> => {
    const { body } = await acme.call('POST', '/api-keys', { body: { name: scopes.join(), scopes } });
    return { key: body.key, keyId: body.record.keyId };
  };
  /** A key that this process looked up just now. */
  const believedKey = async (...scopes: string[]): Promise<{ key: string; keyId: string }> => {
    const created = await keyWith(...scopes);
    expect((await acme.call('GET', '/auth/identity', { key: created.key })).status).toBe(200);
    return created;
  };
  const send = (key: string, [method, path, body]: Sent, headers: Record<string, string> = {}) =>
    acme.call(method, path, { key, headers, ...(body === undefined ? {} : { body }) });
  /** What the logs hold beside refusals, which are told there. */
  const state = async (): Promise<unknown> => {
    const { store } = service.services;
    const projects = await store.projects(acme.orgId);
    const keys = await store.apiKeys(made.projectId, {}, { limit: 1000 });
    const approval = await store.approval(made.projectId, made.approvalId);
    return { projects, keys: keys.map((key) => ({ ...key, lastUsedMs: null })), approval };
  };
  const revoked = (keyId: string, atMs = Date.now()): Effect => ({
    kind: 'revokeApiKey',
    keyId,
    revokedMs: atMs,
    atMs,
  });

  it('these tests cover each operation that erases or that changes credentials, projects or approvals', () => {
    expect(Object.keys(asked).toSorted()).toEqual(wanted.toSorted());
  });

  describe.each(wanted)('%s', (id) => {
    const ask = (): Sent => asked[id]!(made);

    it('a change is refused once another process revoked the key, and the key is unknown afterwards', async () => {
      const { key, keyId } = await believedKey('*');
      await apply(made.projectId, revoked(keyId));
      const before = await state();
      expect((await acme.call('GET', '/auth/identity', { key })).status).toBe(200);
      expect(said(await send(key, ask()))).toEqual([401, 'INVALID_CREDENTIAL']);
      expect(await state()).toEqual(before);
      expect((await acme.call('GET', '/auth/identity', { key })).status).toBe(401);
    });

    it('a change is refused once another process narrowed the key', async () => {
      const { key, keyId } = await believedKey('*');
      const scopes = ['events:read', ...[...guarded].filter((scope) => scope !== table[id].scope)];
      const row = { name: 'narrowed', description: null, scopes, expiresMs: null };
      await apply(made.projectId, { kind: 'changeApiKey', keyId, ...row, atMs: Date.now() });
      const before = await state();
      const refused = await send(key, ask());
      expect(said(refused)).toEqual([403, 'INSUFFICIENT_SCOPE']);
      expect(refused.body.requiredScope).toBe(table[id].scope);
      expect(await state()).toEqual(before);
    });

    it('a change is refused once another process ended the session', async () => {
      const auth_time = Math.floor(Date.now() / 1000);
      const idToken = await service.idToken('Ann', { auth_time });
      const { token } = (await service.call('POST', '/auth/tokens', { body: { idToken } })).body;
      const headers = { 'gov-project': made.projectId };
      expect((await acme.call('GET', '/auth/identity', { key: token, headers })).status).toBe(200);
      await apply(made.projectId, { kind: 'endSession', digest: keyDigest(token), atMs: Date.now() });
      const before = await state();
      expect(said(await send(token, ask(), headers))).toEqual([401, 'INVALID_CREDENTIAL']);
      expect(await state()).toEqual(before);
    });
  });

  it('a caller cannot grant a scope that its own key has lost', async () => {
    const { key, keyId } = await believedKey('*');
    const row = { name: 'narrowed', description: null, scopes: ['keys:write'], expiresMs: null };
    await apply(made.projectId, { kind: 'changeApiKey', keyId, ...row, atMs: Date.now() });
    const widened = await send(key, ['PUT', `/api-keys/${keyId}`, { scopes: ['*'] }]);
    expect([...said(widened), widened.body.missingScopes]).toEqual([403, 'INSUFFICIENT_SCOPE', ['*']]);
    const own = await send(key, ['POST', '/api-keys', { name: 'own', scopes: ['keys:write'] }]);
    expect(own.status).toBe(201);
  });

  it('a change by a key of a project that another process deleted is refused', async () => {
    const inSandbox = (name: string) =>
      acme.call('POST', '/projects', { environment: 'sandbox', body: { name, environment: 'sandbox' } });
    const [{ body }, other] = [await inSandbox('gone'), await inSandbox('other')];
    const idToken = await service.idToken('Ann');
    const { key } = (
      await service.call('POST', `${service.origin}/sandbox/api/v1/api-keys`, {
        key: idToken,
        headers: { 'gov-project': body.id },
        body: { name: 'k', scopes: ['*'] },
      })
    ).body;
    const ask = (method: string, path: string, sent?: unknown) =>
      acme.call(method, path, { key, environment: 'sandbox', ...(sent === undefined ? {} : { body: sent }) });
    expect((await ask('GET', '/auth/identity')).status).toBe(200);
    const atMs = Date.now();
    await apply(body.id, { kind: 'changeProject', deletedMs: atMs, atMs });
    const change = { settings: { retentionDays: 365 } };
    expect(said(await ask('PUT', `/projects/${other.body.id}`, change))).toEqual([401, 'INVALID_CREDENTIAL']);
    expect((await ask('GET', '/auth/identity')).status).toBe(401);
  });

  it('a change by a caller that has not changed is accepted', async () => {
    const { key } = await believedKey('*');
    for (const id of ['updateProject', 'putThresholds', 'putRetention', 'decideApproval'] as const) {
      expect((await send(key, asked[id]!(made))).status).toBe(200);
    }
  });
});

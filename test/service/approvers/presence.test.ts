/** Where a person has to be present: real planes, keys and signatures. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  bodyHashOf,
  changeHeader,
  changeNamespace,
  changeStatement,
  writeChangeSignature,
} from '../../../src/core/approvals/change-statement.ts';
import { sshPublicKey, sshSignature } from '../../../src/core/approvals/ssh-sign.ts';
import { sshNamespace } from '../../../src/core/approvals/statement.ts';
import { createRunToken, runScopes } from '../../../src/core/run-token.ts';
import { limits } from '../../../src/contract/limits.ts';
import type { Json } from '../../../src/core/json/parse.ts';
import { planeInit } from '../../../plane/data/init.ts';
import { planeServe } from '../../../plane/serve/start.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { send, startPlane, type StartOptions, type TestPlane } from '../../support/serving.ts';

const approverScopes = ['governance:read', 'approvals:decide', 'events:read'] as const;

/** A plane with a policy that escalates `pay`. */
async function planeWith(options: StartOptions) {
  const plane = await startPlane({ ...options, extraKeys: { person: { scopes: approverScopes } } });
  const post = (path: string, body: unknown, more: { key?: string; headers?: Record<string, string> } = {}) =>
    plane.call('POST', path, { body, ...more });
  const publish = async (policyId: string, members: object) => {
    const condition = { '==': [{ var: 'context.tool.name' }, 'pay'] };
    await post('/governance/policies', {
      policyId,
      name: policyId,
      condition,
      action: 'escalate',
      ...members,
    });
    return post(`/governance/policies/${policyId}/publish`, {});
  };
  await publish('ask', {});
  const agent = readFileSync(join(plane.dataDir, 'agent.key'), 'utf8').trim();
  const asked = async (key: string, runId: string): Promise<string> =>
    (await post('/mcp/tools/evaluate', { tool: { name: 'pay' }, arguments: {}, runId }, { key })).body
      .approvalId;
  const approve = async (approvalId: string, signature?: object) =>
    post(
      `/approvals/${approvalId}/decision`,
      { outcome: 'approved', ...(signature === undefined ? {} : { signature }) },
      { key: plane.keys['person'] ?? '' },
    );
  const personId = (await plane.call('GET', '/auth/identity', { key: plane.keys['person'] ?? '' })).body.id;
  return { plane, post, publish, agent, asked, approve, personId };
}
type World = Awaited<ReturnType<typeof planeWith>>;

const enrolment = (world: World, key: KeyObject, name: string) => ({
  name,
  principal: world.personId,
  ssh: { publicKey: sshPublicKey(key) },
});

/** The header with which an approver signs a request. */
const signed = (
  plane: TestPlane,
  { key, approverId }: { key: KeyObject; approverId: string },
  of: { method?: string; path: string; body: Json; at?: number },
): Record<string, string> => {
  const { origin } = JSON.parse(readFileSync(join(plane.dataDir, 'plane.json'), 'utf8'));
  const at = new Date(of.at ?? Date.now()).toISOString();
  const request = { method: of.method ?? 'POST', path: of.path, bodyHash: bodyHashOf(of.body) };
  const message = changeStatement(request, { origin, approverId, at });
  const ssh = sshSignature(key, { namespace: changeNamespace, message });
  return { [changeHeader]: writeChangeSignature({ approverId, at, ssh }) };
};

describe('a plane with presence', () => {
  const key = generateKeyPairSync('ed25519').privateKey;
  const other = generateKeyPairSync('ed25519').privateKey;
  let world: World;
  let approverId: string;
  beforeAll(async () => {
    world = await planeWith({ presence: 'signed' });
    const { status, body } = await world.post('/approvers', enrolment(world, key, 'first'));
    expect(status).toBe(201);
    ({ approverId } = body);
  });
  afterAll(() => world.plane.end());

  const signature = async (approvalId: string) => {
    const stated = { outcome: 'approved', approverId };
    const { statement } = (
      await world.post(`/approvals/${approvalId}/statement`, stated, {
        key: world.plane.keys['person'] ?? '',
      })
    ).body;
    return { approverId, ssh: sshSignature(key, { namespace: sshNamespace, message: statement }) };
  };

  it('approves what an agent asked for only with a signature', async () => {
    const approvalId = await world.asked(world.agent, 'p1');
    const shown = (await world.plane.call('GET', `/approvals/${approvalId}`)).body;
    expect(shown.signatureRequired).toBe(true);
    const refused = await world.approve(approvalId);
    expect([refused.status, refused.body.errors[0].pointer]).toEqual([400, '/signature']);
    expect((await world.post(`/approvals/${approvalId}/decision`, { outcome: 'approved' })).status).toBe(400);
    expect((await world.approve(approvalId, await signature(approvalId))).status).toBe(200);
  });

  it('approves what a run token asked for only with a signature, although its key may do everything', async () => {
    const { id: keyId, projectId } = (await world.plane.call('GET', '/auth/identity')).body;
    const expiresMs = Date.now() + 60_000;
    const token = createRunToken(
      { keyId, key: world.plane.key },
      { runId: 'p2', projectId, expiresMs, scopes: runScopes },
    );
    const approvalId = await world.asked(token, 'p2');
    expect((await world.approve(approvalId)).status).toBe(400);
    expect((await world.approve(approvalId, await signature(approvalId))).status).toBe(200);
  });

  it('needs no signature for what the operator asked for, nor for a denial', async () => {
    expect((await world.approve(await world.asked(world.plane.key, 'p3'))).status).toBe(200);
    const approvalId = await world.asked(world.agent, 'p4');
    const denied = await world.post(`/approvals/${approvalId}/decision`, { outcome: 'denied' });
    expect(denied.status).toBe(200);
  });

  it('is recorded so that each decision can be computed again', async () => {
    await world.asked(world.agent, 'p5');
    const { body } = await world.post('/proofs', { runId: 'p5' });
    const failed = body.layers.filter(({ verified }: { verified: boolean }) => !verified);
    expect(failed).toEqual([]);
  });

  const disable = { targetStatus: 'disabled' };
  it('ends a policy only with the signature of an approver, about this request, once, and for five minutes', async () => {
    await world.publish('stop', { action: 'deny' });
    const path = '/governance/policies/stop/transition';
    const by = { key, approverId };
    const transition = (headers: Record<string, string> = {}) => world.post(path, disable, { headers });
    const none = await transition();
    expect([none.status, none.body.code, none.body.signatureRequired]).toEqual([
      403,
      'FORBIDDEN',
      changeHeader,
    ]);
    expect(none.body.detail).toContain('to end policy stop');
    const of = { path, body: disable };
    const lateMs = limits.changeSignatureMinutes * 60_000;
    const refused = [
      { [changeHeader]: 'x' },
      {
        [changeHeader]: writeChangeSignature({
          approverId,
          at: new Date().toISOString(),
          passkey: { clientDataJSON: 'e30', authenticatorData: 'e30', signature: 'e30' },
        }),
      },
      signed(world.plane, { key: other, approverId }, of),
      signed(world.plane, { key, approverId: 'apv_01jzzzzzzzzzzzzzzzzzzzzzzz' }, of),
      signed(world.plane, by, { ...of, path: '/governance/policies/ask/transition' }),
      signed(world.plane, by, { ...of, body: { targetStatus: 'archived' } }),
      signed(world.plane, by, { ...of, method: 'PUT' }),
      signed(world.plane, by, { ...of, at: Date.now() - lateMs - 1000 }),
      signed(world.plane, by, { ...of, at: Date.now() + lateMs + 5000 }),
    ];
    for (const headers of refused) expect((await transition(headers)).status).toBe(403);
    const headers = signed(world.plane, by, { ...of, at: Date.now() - lateMs + 5000 });
    expect((await transition(headers)).status).toBe(200);
    await world.post('/governance/policies/stop/transition', { targetStatus: 'active' });
    expect((await transition(headers)).body.detail).toContain('one that was used before');
    const { events } = (await world.plane.call('GET', '/events?runId=gov.system&eventType=change.signed'))
      .body;
    expect(events).toMatchObject([{ resource: { id: approverId }, metadata: { what: 'end policy stop' } }]);
  });

  it('takes a new policy, and a stricter version, without a signature', async () => {
    expect((await world.publish('more', { action: 'warn' })).status).toBe(200);
    const condition = { '==': [{ var: 'context.tool.name' }, 'pay'] };
    const version = async (members: object) => {
      await world.post('/governance/policies/more/versions', { condition, action: 'deny', ...members });
      return (await world.post('/governance/policies/more/publish', {})).status;
    };
    expect(await version({ action: 'deny' })).toBe(200);
    expect(await version({ action: 'escalate' })).toBe(403);
    expect(await version({ action: 'deny', condition: true })).toBe(403);
  });

  it('makes a key beyond those of agents only with a signature', async () => {
    const make = (scopes: string[]) => world.post('/api-keys', { name: 'k', scopes });
    const made = await make(['tools:evaluate', 'events:read']);
    expect([made.status, (await make(['approvals:decide'])).status]).toEqual([201, 403]);
    const { keyId } = made.body.record;
    const widen = {
      scopes: ['tools:evaluate', 'policies:write'].map((scope) =>
        scope.replace('policies:write', 'governance:manage'),
      ),
    };
    expect((await world.plane.call('PUT', `/api-keys/${keyId}`, { body: widen })).status).toBe(403);
    expect((await world.plane.call('POST', `/api-keys/${world.personId}/rotate`)).status).toBe(403);
  });

  it('enrols another approver only with the signature of one', async () => {
    const body = enrolment(world, other, 'second');
    expect((await world.post('/approvers', body)).status).toBe(403);
    const headers = signed(world.plane, { key, approverId }, { path: '/approvers', body });
    expect((await world.post('/approvers', body, { headers })).status).toBe(201);
  });
});

describe('the first approver', () => {
  it('is refused after an agent has asked for an approval', async () => {
    const world = await planeWith({ presence: 'signed' });
    const approvalId = await world.asked(world.agent, 'f1');
    expect((await world.approve(approvalId)).status).toBe(400);
    const { privateKey } = generateKeyPairSync('ed25519');
    const refused = await world.post('/approvers', enrolment(world, privateKey, 'late'));
    expect([refused.status, refused.body.detail]).toEqual([
      403,
      expect.stringContaining('gov approvers recover'),
    ]);
    await world.plane.end();
  });
});

describe('the first approver of a plane with runs', () => {
  it('is refused after a run token of the operator has asked, and not after the operator', async () => {
    const world = await planeWith({ presence: 'signed' });
    const { plane } = world;
    await world.asked(plane.key, 'f2');
    const { id: keyId, projectId } = (await plane.call('GET', '/auth/identity')).body;
    const claims = { runId: 'f3', projectId, expiresMs: Date.now() + 60_000, scopes: runScopes };
    await world.asked(createRunToken({ keyId, key: plane.key }, claims), 'f3');
    const { privateKey } = generateKeyPairSync('ed25519');
    expect((await world.post('/approvers', enrolment(world, privateKey, 'one'))).status).toBe(403);
    await plane.end();

    const untouched = await planeWith({ presence: 'signed' });
    await untouched.asked(untouched.plane.key, 'f4');
    expect((await untouched.post('/approvers', enrolment(untouched, privateKey, 'one'))).status).toBe(201);
    await untouched.plane.end();
  });
});

describe('a plane of an older release', () => {
  it('approves by key until its first approver is enrolled, although an agent has asked', async () => {
    const dataDir = join(mkdtempSync(join(tmpdir(), 'gov-older-')), 'plane');
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off', presence: 'none' });
    const path = join(dataDir, 'plane.json');
    const { presence: _, ...older } = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify(older));
    const keyIn = (name: string) => readFileSync(join(dataDir, name), 'utf8').trim();
    const [operator, person, agent] = ['local.key', 'approver.key', 'agent.key'].map(keyIn);
    const plane = await planeServe({ dataDir, log: silentLog, env: {} });
    const post = (place: string, body: unknown, key = operator) =>
      send('POST', `${plane.baseUrl}${place}`, { body, key: key ?? '' });
    const condition = { '==': [{ var: 'context.tool.name' }, 'pay'] };
    await post('/governance/policies', { policyId: 'ask', name: 'ask', condition, action: 'escalate' });
    await post('/governance/policies/ask/publish', {});
    const decided = async (runId: string): Promise<number> => {
      const call = { tool: { name: 'pay' }, arguments: {}, runId };
      const { approvalId } = (await post('/mcp/tools/evaluate', call, agent)).body;
      return (await post(`/approvals/${approvalId}/decision`, { outcome: 'approved' }, person)).status;
    };
    expect(await decided('o1')).toBe(200);
    const { privateKey } = generateKeyPairSync('ed25519');
    const body = { name: 'first', ssh: { publicKey: sshPublicKey(privateKey) } };
    expect((await post('/approvers', body)).status).toBe(201);
    expect(await decided('o2')).toBe(400);
    await plane.close();
  });
});

describe('a plane without presence', () => {
  it('approves by key, records that no person signed, and says so in health', async () => {
    const world = await planeWith({ presence: 'none' });
    const { privateKey } = generateKeyPairSync('ed25519');
    await world.post('/approvers', enrolment(world, privateKey, 'one'));
    const approvalId = await world.asked(world.agent, 'n1');
    expect((await world.approve(approvalId)).status).toBe(200);
    expect(
      (await world.post('/governance/policies/ask/transition', { targetStatus: 'disabled' })).status,
    ).toBe(200);
    const health = (await world.plane.call('GET', '/health')).body;
    expect(health.reasons).toContainEqual(expect.stringContaining('presence: none'));
    await world.plane.end();
  });
});

/** Any key that records events can write a balance, and a key beyond those of agents what a kernel saw. The log names the key. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { agentScopes } from '../../../src/core/agents/clients.ts';
import { createRunToken, runScopes } from '../../../src/core/run-token.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { sampleBalance } from '../../core/balance/sample.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane({
    extraKeys: { other: { scopes: ['events:write'] }, agent: { scopes: agentScopes } },
  });
});
afterAll(() => plane.end());

const balance = (more: object = {}) =>
  event({ eventType: 'gov.balance/1', metadata: { ...sampleBalance, here: { calls: 1 }, ...more } });
const post = (body: object, key = plane.key) => plane.call('POST', '/events', { body, key });

it('a balance names the credential that recorded it, and no client can write another', async () => {
  const left = { found: { calls: 2 }, leftOut: { calls: 1, parts: 1 } };
  const honest = { ...balance(left), clientEventId: 'b-1' };
  expect((await post(event({ metadata: { timestampSource: 'source' } }))).status).toBe(201);
  expect((await post(honest)).status).toBe(201);
  expect((await post(balance(), plane.keys['other'])).status).toBe(201);
  expect((await post(honest)).status).toBe(201);

  const { events } = (await plane.call('GET', '/events?runId=run-1&eventType=gov.balance/1')).body;
  const named = events.map(({ metadata }: { metadata: Record<string, unknown> }) => metadata['gov.statedBy']);
  const { data } = (await plane.call('GET', '/api-keys')).body;
  const ids = data.map(({ keyId }: { keyId: string }) => keyId);
  expect(named).toHaveLength(2);
  expect(new Set(named).size).toBe(2);
  expect(ids).toEqual(expect.arrayContaining(named));

  const forged = balance({ 'gov.statedBy': named[0] });
  const refused = await post(forged, plane.keys['other']);
  expect([refused.status, refused.body.errors]).toMatchObject([
    400,
    [{ pointer: '/metadata/gov.statedBy', code: 'NOT_ALLOWED' }],
  ]);
  const batch = await plane.call('POST', '/events/batch', { body: { events: [forged, balance()] } });
  expect(batch.body.results).toMatchObject([{ status: 'rejected' }, { status: 'accepted' }]);
});

it('what a kernel saw is recorded by no agent and under no token of a run, and names the key that recorded it', async () => {
  const { body: identity } = await plane.call('GET', '/auth/identity');
  const claims = { runId: 'run-1', projectId: identity.projectId, expiresMs: Date.now() + 60_000 };
  const token = createRunToken({ keyId: identity.id, key: plane.key }, { ...claims, scopes: runScopes });
  const program = { pid: 2, ppid: 1, path: '/bin/sh', argv: ['sh', '-c', 'ls'] };
  const events = [
    { eventType: 'sandbox.started', metadata: { denyRead: [] } },
    { eventType: 'x.kernel.exec', metadata: { recordedBy: 'kernel', ...program } },
    { eventType: 'x.kernel.connect', metadata: { host: 'example.com', port: 443 } },
    { eventType: 'x.seen', metadata: { recordedBy: 'kernel' } },
  ];
  for (const { eventType, metadata } of events) {
    const body = event({ eventType, metadata });
    for (const key of [plane.keys['agent'] ?? '', token]) {
      const refused = await post(body, key);
      expect([refused.status, refused.body.errors]).toMatchObject([
        400,
        [
          {
            pointer: '/eventType',
            code: 'NOT_ALLOWED',
            detail: expect.stringContaining('gov run --sandbox'),
          },
        ],
      ]);
      const batch = await plane.call('POST', '/events/batch', { body: { events: [body, event()] }, key });
      expect(batch.body.results).toMatchObject([{ status: 'rejected' }, { status: 'accepted' }]);
    }
    expect((await post(body)).status).toBe(201);
    const named = event({ eventType, metadata: { ...metadata, 'gov.statedBy': identity.id } });
    expect((await post(named)).status).toBe(400);
  }
  const started = (await plane.call('GET', '/events?runId=run-1&eventType=x.kernel.exec')).body.events;
  expect(started).toMatchObject([
    { metadata: { ...program, 'gov.statedBy': identity.id, callHash: expect.stringContaining('sha256:') } },
  ]);
});

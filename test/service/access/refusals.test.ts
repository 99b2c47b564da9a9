import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { Caller } from '../../../src/service/call/caller.ts';
import { refusalRecorder } from '../../../src/service/access/refusals.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { startPlane } from '../../support/serving.ts';
import { asPerson, inProject, told, until, type SystemEvent } from '../support/tenants.ts';

describe.each(engines)('refused credentials on %s', (engine) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ engine });
  });
  afterAll(() => service.end());

  const failed = (
    of: Tenant,
    kind: 'authorization' | 'authentication',
    length: number,
  ): Promise<SystemEvent[]> =>
    until(
      () => told(of.call, `${kind}.failed`),
      (found) => found.length >= length,
    );

  it("a refusal for a missing scope is an event of the key's project", async () => {
    const of = await service.signUp(`Scope-${engine}`);
    const { body } = await of.call('POST', '/api-keys', { body: { name: 'r', scopes: ['log:read'] } });
    expect((await of.call('GET', '/events?runId=r', { key: body.key })).status).toBe(403);
    const [event] = await failed(of, 'authorization', 1);
    expect(event).toMatchObject({
      actor: { id: body.record.keyId, type: 'api_key' },
      resource: { id: 'listEvents', type: 'operation' },
      metadata: { operation: 'listEvents', code: 'INSUFFICIENT_SCOPE', unrecorded: 0 },
    });
  });

  it('a refusal of a revoked or expired key is an event as well', async () => {
    const of = await service.signUp(`Ended-${engine}`);
    const { body } = await of.call('POST', '/api-keys', { body: { name: 'r' } });
    await of.call('DELETE', `/api-keys/${body.record.keyId}`);
    expect((await of.call('GET', '/projects', { key: body.key })).status).toBe(401);
    const [event] = await failed(of, 'authentication', 1);
    expect(event?.actor.id).toBe(body.record.keyId);
    expect(event?.metadata).toMatchObject({ operation: 'listProjects', code: 'INVALID_CREDENTIAL' });
  });

  it('a refusal of an unknown key is no event', async () => {
    const of = await service.signUp(`Nobody-${engine}`);
    const key = of.keys.production.replace(/.{6}$/, '000000');
    expect((await of.call('GET', '/projects', { key })).status).toBe(401);
    const ann = asPerson(service, `Nobody-${engine}`);
    expect((await ann('GET', '/runs', inProject('prj_00000000000000000000000000'))).status).toBe(404);
    expect(await told(of.call, 'authorization.failed')).toEqual([]);
    expect(await told(of.call, 'authentication.failed')).toEqual([]);
  });
});

describe('a project whose keys are refused in a loop', () => {
  const most = limits.failedAuthorizationsPerMinute;
  let service: TestService;
  let of: Tenant;
  beforeAll(async () => {
    service = await startService();
    of = await service.signUp('Loop');
  });
  afterAll(() => service.end());

  it('a project whose keys are refused in a loop gets a bounded number of events a minute, and the number left out', async () => {
    const project = await service.services.store.project(
      (await of.call('GET', '/auth/identity')).body.projectId,
    );
    let nowMs = Date.UTC(2026, 5, 1);
    const tell = refusalRecorder({ ...service.services, now: () => nowMs });
    const who: Pick<Caller, 'id' | 'type' | 'project'> = { id: 'key_1', type: 'api_key', project: project! };
    const denied = (times: number): void => {
      for (let n = 0; n < times; n++) tell(who, { operation: 'listRuns', code: 'INSUFFICIENT_SCOPE' });
    };
    denied(most + 25);
    nowMs += 59_000;
    denied(5);
    nowMs += 1_000;
    denied(most);
    nowMs += 3_600_000;
    denied(1);
    const events = await until(
      () => told(of.call, 'authorization.failed'),
      (found) => found.length >= 2 * most + 1,
    );
    const unrecorded = events.map(({ metadata }) => metadata['unrecorded']);
    expect(unrecorded).toEqual([...Array(most).fill(0), 30, ...Array(most - 1).fill(0), 0]);
  });

  it('a refusal is answered also when it cannot be recorded', async () => {
    const lines: string[] = [];
    const log = { ...service.services.log, warn: (_: object, text: string) => void lines.push(text) };
    const append = () => Promise.reject(new Error('disk'));
    const tell = refusalRecorder({
      ...service.services,
      log,
      store: Object.assign(Object.create(service.services.store), { append }),
    });
    const project = { projectId: 'prj_x' } as Caller['project'];
    tell({ id: 'k', type: 'api_key', project }, { operation: 'listRuns', code: 'FORBIDDEN' });
    await until(
      () => Promise.resolve(lines),
      (found) => found.length > 0,
    );
    expect(lines).toEqual(['a refused request could not be recorded']);
  });
});

it('a refusal is no event on a plane, which has one tenant', async () => {
  const plane = await startPlane({ extraKeys: { narrow: { scopes: ['log:read'] } } });
  const key = plane.keys['narrow'] ?? '';
  expect((await plane.call('GET', '/runs', { key })).status).toBe(403);
  expect(await told(plane.call, 'authorization.failed')).toEqual([]);
  await plane.end();
});

/** The receiver of a hosted service: quotas, metering, and what a project keeps of content. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { recordReceived } from '../../../src/service/events/receive.ts';
import { startHosted, type HostedPlane } from '../../support/worlds.ts';
import { countsOf, post, tool, traceId, traces } from './requests.ts';

const quota = 10;
let plane: HostedPlane;
beforeAll(async () => {
  plane = await startHosted(
    {},
    { engine: 'sqlite', file: { quotas: { production: { audit_event: quota } } } },
  );
});
afterAll(() => plane.end());

const secret = { 'gen_ai.tool.call.arguments': '{"note":"a secret"}', 'user.email': 'zoe@example.com' };
const keptWith = async (contentCapture: string, n: number): Promise<Record<string, unknown>> => {
  const settings = { contentCapture };
  const changed = await plane.call('PUT', `/projects/${plane.projectId}`, { body: { settings } });
  expect(changed.body.settings.contentCapture).toBe(contentCapture);
  const run = `capture-${contentCapture}`;
  const answer = await post(
    plane,
    'traces',
    traces(tool(1, { ...secret, 'session.id': run }, { traceId: traceId(n) })),
  );
  expect(countsOf(answer)['kept']).toBe(1);
  return (await plane.call('GET', `/events?runId=${run}`)).body.events[0].metadata;
};

describe('the receiver of a hosted service', () => {
  it('keeps of content what the project says, from the change of the setting on', async () => {
    expect(await keptWith('full', 1)).toMatchObject({
      arguments: { note: 'a secret' },
      otel: { 'user.email': 'zoe@example.com' },
    });
    expect(JSON.stringify(await keptWith('hashes', 2))).not.toMatch(/secret|zoe/);
    const none = await keptWith('none', 3);
    expect(Object.keys(none)).not.toContain('arguments');
    expect(JSON.stringify(none)).not.toMatch(/secret|zoe|sha256/);
    const wrong = { settings: { contentCapture: 'some' } };
    expect((await plane.call('PUT', `/projects/${plane.projectId}`, { body: wrong })).status).toBe(400);
  });

  it('meters what is recorded, not what is repeated or filtered', async () => {
    const before = await plane.units('audit_event');
    const spans = traces(tool(1, {}, { traceId: traceId(4) }), {
      traceId: traceId(4),
      spanId: 'c'.repeat(16),
    });
    for (let time = 0; time < 3; time++) await post(plane, 'traces', spans);
    expect(await plane.units('audit_event')).toBe(before + 1);
  });

  it('refuses a request beyond the quota as a whole, and says when to come again', async () => {
    const before = await plane.units('audit_event');
    const many = Array.from({ length: quota }, (_, n) =>
      tool(n, { 'session.id': 'much' }, { traceId: traceId(5) }),
    );
    const refused = await post(plane, 'traces', traces(...many));
    expect([refused.status, refused.body.code]).toEqual([429, 8]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(await plane.units('audit_event')).toBe(before);
    expect((await plane.call('GET', '/events/count?runId=much')).body.count).toBe(0);
    const fits = await post(plane, 'traces', traces(many[0]));
    expect([fits.status, countsOf(fits)['kept']]).toEqual([200, 1]);
  });

  it('lets only so many requests of a project wait, and asks the others to repeat', async () => {
    const { services } = plane.service;
    const place = { environment: 'production', needsProject: true } as const;
    const found = services.credentials.identify({ token: plane.key, cookie: null, project: null }, place);
    const caller = 'lookUp' in found ? await found.lookUp() : found;
    let release = (): void => {};
    const blocked = new Promise<void>((resolve) => (release = resolve));
    const read = async () => {
      await blocked;
      return {};
    };
    const waiting = Array.from({ length: limits.otlpWaiting }, () =>
      recordReceived(services, caller, { signal: 'metrics', read }),
    );
    const refused = await post(plane, 'metrics', { resourceMetrics: [] });
    expect([refused.status, refused.headers['retry-after'], refused.body.code]).toEqual([
      503,
      String(limits.overloadRetrySeconds),
      14,
    ]);
    release();
    await Promise.all(waiting);
    expect((await post(plane, 'metrics', { resourceMetrics: [] })).status).toBe(200);
  });
});

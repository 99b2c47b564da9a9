/** Sources that fall silent, and what is forgotten of received telemetry; on both engines, with a clock that runs ahead. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { Source } from '../../../src/contract/sources.ts';
import { attributes, countsOf, log, logs, post, tool, traceId, traces } from '../../http/otlp/requests.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { startPlane } from '../../support/serving.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const boundMs = limits.sourceSilentHours * hourMs;
const realNow = Date.now;
/** Only ever more: server times never run backwards. */
let aheadMs = 0;

describe.each(engines)('a source that falls silent, on %s', (engine) => {
  let service: TestService;
  let acme: Tenant;
  let other: Tenant;
  let stoppedAt = 0;
  beforeAll(async () => {
    vi.spyOn(Date, 'now').mockImplementation(() => stoppedAt + aheadMs);
    stoppedAt = realNow();
    aheadMs = 0;
    service = await startService({ engine });
    acme = await service.signUp('Ann');
    other = await service.signUp('Bob');
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await service.end();
  });

  const send = (signal: string, request: object, tenant = acme) =>
    post({ origin: service.origin, key: tenant.keys.production }, signal, request);
  const from = (name: string, instance: string, group: object) => ({
    ...group,
    resource: { attributes: attributes({ 'service.name': name, 'service.instance.id': instance }) },
  });
  const metric = (name: string, instance = 'one') => ({
    resourceMetrics: [from(name, instance, { scopeMetrics: [{ metrics: [{ name: 'up' }] }] })],
  });
  const beat = async (name: string, instance?: string) => {
    expect((await send('metrics', metric(name, instance))).status).toBe(200);
  };
  /** Without those of the clock, which this test turns forward. */
  const reasonsOf = async ({ call }: Tenant): Promise<string[]> => {
    const { status, reasons } = (await call('GET', '/health')).body as { status: string; reasons: string[] };
    const found = reasons.filter((reason) => reason.startsWith('source_silent'));
    if (found.length > 0) expect(status).toBe('degraded');
    return found;
  };
  const silent = async ({ call } = acme): Promise<string[]> =>
    ((await call('GET', '/sources?limit=200')).body.data as Source[])
      .filter((source) => source.silent)
      .map((source) => `${source.service} ${source.instance}`)
      .toSorted();

  it('is named by health and the list of sources after the stated time, until it sends again', async () => {
    await beat('agent');
    aheadMs += boundMs;
    await beat('agent', 'two');
    aheadMs += boundMs;
    expect([await reasonsOf(acme), await silent()]).toEqual([[], []]);
    aheadMs += 1;
    const since = new Date(Date.now() - boundMs - 1).toISOString();
    expect(await reasonsOf(acme)).toEqual([`source_silent: agent since ${since}`]);
    expect(await silent()).toEqual(['agent one', 'agent two']);
    await beat('agent', 'three');
    expect([await reasonsOf(acme), await silent()]).toEqual([[], []]);
  });

  it('is the concern of its own project alone', async () => {
    aheadMs += boundMs + 1;
    expect(await reasonsOf(acme)).toHaveLength(1);
    expect(await reasonsOf(other)).toEqual([]);
    await beat('agent');
  });

  it('raises no alarm if it sent for a shorter time, such as a program that ran once', async () => {
    await beat('once');
    aheadMs += boundMs - 1;
    await beat('once');
    await beat('agent');
    aheadMs += boundMs;
    await beat('agent');
    aheadMs += 1000;
    expect(await reasonsOf(acme)).toEqual([]);
  });

  it('is counted, and three of many are named', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await beat(name);
    aheadMs += boundMs;
    for (const name of ['a', 'b', 'c', 'd', 'e']) await beat(name);
    aheadMs += boundMs + 1;
    await beat('agent');
    expect(await reasonsOf(acme)).toEqual([expect.stringMatching(/^source_silent: .*, and 2 more$/)]);
  });

  it('is forgotten after a stated number of days, which ends the alarm', async () => {
    const { store, now } = service.services;
    await beat('agent');
    aheadMs += (limits.intakeFactDays + 1) * dayMs - boundMs;
    await store.sweep(now());
    expect(await reasonsOf(acme)).toEqual([expect.stringContaining('agent since')]);
    aheadMs += dayMs;
    await store.sweep(now());
    expect([await reasonsOf(acme), await silent()]).toEqual([[], []]);
  });

  it('is known by a call that a span and a log report, for as long as an exporter may repeat it', async () => {
    const { store, now } = service.services;
    const call = { 'session.id': 'late', 'gen_ai.tool.call.id': 'call_1' };
    const span = () => send('traces', traces(tool(1, call, { traceId: traceId(900) })));
    const record = () =>
      send(
        'logs',
        logs(log({ ...call, 'event.name': 'claude_code.tool_result', tool_name: 'pay', success: 'true' })),
      );
    expect(countsOf(await span())).toMatchObject({ kept: 1 });
    const before = (await acme.call('GET', '/events/count?runId=late')).body.count;
    aheadMs += limits.intakeFactDays * dayMs;
    await store.sweep(now());
    const calls = async () =>
      ((await acme.call('GET', '/events?runId=late')).body.events as { eventType: string }[]).filter(
        ({ eventType }) => eventType === 'tool.call',
      ).length;
    await record();
    expect(await calls()).toBe(1);
    // the same record again is one record, however late it comes
    aheadMs += 10 * limits.intakeFactDays * dayMs;
    await store.sweep(now());
    expect(await store.factsFrom(acme.projectId, 'c:', { limit: 1 })).toEqual([]);
    expect(countsOf(await span())).toMatchObject({ kept: 0, repeated: 1 });
    expect(await calls()).toBe(1);
    expect(before).toBeGreaterThan(0);
  });

  it('is missing numbers where a batch was dropped on its way', async () => {
    const numbered = (...numbers: number[]) =>
      logs(...numbers.map((n) => log({ 'event.name': 'step', 'session.id': 'drop', 'event.sequence': n })));
    await send('logs', numbered(0, 1, 2));
    await send('logs', numbered(6, 7)); // the batch 3, 4, 5 never arrives
    const { data } = (await acme.call('GET', '/sources?limit=200')).body;
    expect((data as Source[]).find(({ missing }) => missing > 0)).toMatchObject({
      service: 'agent',
      missing: 3,
    });
  });
});

describe('a plane whose source falls silent', () => {
  it('is degraded for a caller without a key, and ready', async () => {
    const startedMs = realNow();
    aheadMs = 0;
    vi.spyOn(Date, 'now').mockImplementation(() => startedMs + aheadMs);
    const plane = await startPlane();
    try {
      const request = { resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'up' }] }] }] };
      await post(plane, 'metrics', request);
      aheadMs = boundMs;
      await post(plane, 'metrics', request);
      aheadMs += boundMs + 1;
      const { body } = await plane.call('GET', '/health');
      expect(body.reasons).toContainEqual(expect.stringMatching(/^source_silent: unknown_service since /));
      expect((await plane.call('GET', '/health', { key: null })).body.status).toBe('degraded');
    } finally {
      vi.restoreAllMocks();
      await plane.end();
    }
  });
});

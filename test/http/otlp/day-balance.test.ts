/** What came from a source on a day, and what became of it; with a clock that runs ahead. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { SourceDay } from '../../../src/contract/sources.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { log, logs, post, span, tool, traces } from './requests.ts';

const dayMs = 86_400_000;
const realNow = Date.now();
let aheadMs = 0;
let plane: TestPlane;
beforeAll(async () => {
  vi.spyOn(Date, 'now').mockImplementation(() => realNow + aheadMs);
  plane = await startPlane();
});
afterAll(async () => {
  vi.restoreAllMocks();
  await plane.end();
});

const dayAt = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const days = async (): Promise<SourceDay[]> => (await plane.call('GET', '/sources/days')).body.data;
const balances = async () =>
  ((await plane.call('GET', '/events?runId=gov.system&eventType=gov.balance/1')).body.events ?? []) as {
    metadata: Record<string, unknown>;
  }[];

describe('the balance of telemetry', () => {
  it('accounts for each record of a day, names the first rejected one, and is an event on the next day', async () => {
    const called = { 'session.id': 's', 'gen_ai.tool.call.id': 'c1' };
    const hooked = event({
      runId: 's',
      eventType: 'tool.call',
      resource: { name: 'pay' },
      metadata: { toolCallId: 'c1', recordedBy: 'hook' },
    });
    expect((await plane.call('POST', '/events', { body: hooked })).status).toBe(201);
    await post(plane, 'traces', traces(tool(1, called), tool(2), span(3, { a: 'b' }), 7));
    await post(plane, 'traces', traces(tool(1, called), tool(2)));
    await post(plane, 'logs', logs(log({ 'session.id': 's', 'event.name': 'user_prompt', prompt: 'go' })));
    await post(plane, 'metrics', { resourceMetrics: [] });
    const sent = {
      service: 'agent',
      instance: null,
      day: dayAt(realNow),
      spans: 6,
      logs: 1,
      recorded: 2,
      observed: 1,
      inherited: 2,
      bookkeeping: 1,
      rejected: 1,
    };
    const all = await days();
    expect(all.find(({ service }) => service === 'agent')).toMatchObject(sent);
    expect(all.every(({ balanced }) => balanced)).toBe(true);
    expect(all[0]?.remainder).toEqual({
      where: expect.stringMatching(/^request at /),
      why: 'expected an object, got number',
    });
    expect(await balances()).toEqual([]);

    aheadMs = dayMs;
    await post(plane, 'traces', traces(tool(4)));
    await post(plane, 'traces', traces(tool(5)));
    const closed = await balances();
    expect(closed.map(({ metadata }) => metadata['day'])).toEqual(closed.map(() => dayAt(realNow)));
    expect(
      closed.find(({ metadata }) => (metadata['source'] as { service: string }).service === 'agent')
        ?.metadata,
    ).toMatchObject({ recorded: 2, observed: 1, inherited: 2, bookkeeping: 1, balanced: true });
    expect((await days()).map(({ day }) => day)).toContain(dayAt(realNow + dayMs));

    aheadMs = 2 * dayMs;
    await post(plane, 'traces', traces(tool(6)));
    const both = await balances();
    expect(both.length).toBe(closed.length + 1);
    expect(both.at(-1)?.metadata).toMatchObject({ day: dayAt(realNow + dayMs), recorded: 2, inherited: 0 });
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Source } from '../../../src/contract/sources.ts';
import { attributes, log, logs, post, span, tool, traces } from '../../http/otlp/requests.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

const list = async (query = ''): Promise<{ data: Source[]; nextCursor: string | null }> =>
  (await plane.call('GET', `/sources${query}`)).body;
const find = async (service: string): Promise<Source | undefined> =>
  (await list('?limit=200')).data.find((source) => source.service === service);

/** The same records from another source. */
const from = (service: string, request: object, instance?: string): object => {
  const names = {
    'service.name': service,
    ...(instance === undefined ? {} : { 'service.instance.id': instance }),
  };
  const [[member, groups]] = Object.entries(request) as [[string, object[]]];
  return { [member]: groups.map((group) => ({ ...group, resource: { attributes: attributes(names) } })) };
};

const numbered = (session: string, ...numbers: number[]): object =>
  logs(...numbers.map((n) => log({ 'event.name': 'step', 'session.id': session, 'event.sequence': n })));

describe('sources of telemetry', () => {
  it('are listed with what became of their records, each instance by itself', async () => {
    await post(plane, 'traces', from('shop', traces(tool(1), span(2, {}), 7), 'one'));
    await post(plane, 'traces', from('shop', traces(tool(1)), 'one'));
    await post(plane, 'traces', from('shop', traces(tool(3)), 'two'));
    await post(plane, 'metrics', { resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'a' }] }] }] });
    const shops = (await list()).data.filter(({ service }) => service === 'shop');
    const one = shops.find(({ instance }) => instance === 'one');
    expect(shops.map(({ instance }) => instance).toSorted()).toEqual(['one', 'two']);
    expect(one).toMatchObject({ kept: 1, repeated: 1, filtered: 1, rejected: 1, metrics: 0, missing: 0 });
    expect(Date.parse(one!.lastSeenAt)).toBeGreaterThanOrEqual(Date.parse(one!.firstSeenAt));
    expect(one?.clockOffsetMs).toBeGreaterThan(0);
    expect(await find('unknown_service')).toMatchObject({ instance: null, metrics: 1, clockOffsetMs: null });
  });

  it('say how many numbers of a session are missing, until the late ones come', async () => {
    const missing = async (): Promise<number | undefined> => (await find('claude'))?.missing;
    await post(plane, 'logs', from('claude', numbered('a', 0, 1, 5)));
    expect(await missing()).toBe(3);
    await post(plane, 'logs', from('claude', numbered('b', 0, 2)));
    expect(await missing()).toBe(4);
    await post(plane, 'logs', from('claude', numbered('a', 3, 0)));
    expect(await missing()).toBe(3);
    await post(plane, 'logs', from('claude', numbered('a', 2, 4)));
    await post(plane, 'logs', from('claude', numbered('b', 1)));
    expect(await missing()).toBe(0);
  });

  it('are listed in pages, each once', async () => {
    const all = (await list('?limit=200')).data;
    const paged: Source[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await list(`?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
      paged.push(...page.data);
      cursor = page.nextCursor;
    }
    expect(paged).toEqual(all);
    expect(all.length).toBeGreaterThan(3);
  });
});

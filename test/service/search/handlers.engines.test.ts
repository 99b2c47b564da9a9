import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { blockLeaves } from '../../../src/core/search/places.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { other: { scopes: ['*'], project: 'other' } } });
});
afterAll(() => plane.end());

const base = Date.parse('2026-03-01T00:00:00Z');
const at = (minute: number): string => new Date(base + minute * 60_000).toISOString();

async function record(events: readonly Record<string, unknown>[]): Promise<void> {
  for (let from = 0; from < events.length; from += limits.batchEvents) {
    const part = events.slice(from, from + limits.batchEvents);
    const { status } = await plane.call('POST', '/events/batch', { body: { events: part } });
    expect(status).toBe(201);
  }
}

interface Page {
  events: { runId: string; sequence: number; timestamp: string }[];
  nextCursor: string | null;
}
const page = async (query: string, key?: string): Promise<Page> =>
  (await plane.call('GET', `/events/search?${query}`, key === undefined ? {} : { key })).body as Page;

/** All pages: what names each event, since a whole one would make a difference of two lists long. */
async function search(query: string, limit = 100): Promise<Page['events']> {
  const found: Page['events'] = [];
  let cursor: string | null = '';
  for (let pages = 0; cursor !== null; pages += 1) {
    expect(pages, 'pages of a search').toBeLessThan(1000);
    const more: Page = await page(`${query}&limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    found.push(...more.events.map(({ runId, sequence, timestamp }) => ({ runId, sequence, timestamp })));
    cursor = more.nextCursor;
  }
  return found;
}

const blocks = async (): Promise<number> =>
  Number((await plane.sql('SELECT max(blocks) AS n FROM event_term_head'))[0]?.n ?? 0);

describe('GET /events/search', () => {
  it('GET /events/search finds events of all runs by their members and times, newest first', async () => {
    const decided = (minute: number, decision: string, tool: string) =>
      event({
        runId: `find-${minute}`,
        eventType: 'tool.evaluated',
        timestamp: at(minute),
        resource: { name: tool, type: 'tool' },
        metadata: { decision },
      });
    await record([decided(1, 'deny', 'pay'), decided(2, 'allow', 'pay'), decided(3, 'deny', 'mail')]);
    const runs = async (query: string) => (await search(query)).map(({ runId }) => runId);
    expect(await runs('decision=deny&actor=billing-agent')).toEqual(['find-3', 'find-1']);
    expect(await runs('decision=deny&tool=pay')).toEqual(['find-1']);
    expect(await runs(`tool=pay&startTime=${at(2)}`)).toEqual(['find-2']);
    expect(await runs(`tool=pay&endTime=${at(1)}`)).toEqual(['find-1']);
    expect(await runs('runId=find-3')).toEqual(['find-3']);
    expect(await runs('decision=warn')).toEqual([]);
  });

  it('GET /events/search finds the same with the index as without, page by page', async () => {
    const many = Array.from({ length: 2 * blockLeaves + 300 }, (_, n) =>
      event({
        runId: `many-${n % 7}`,
        actor: { name: n % 50 === 0 ? 'rare' : 'common' },
        timestamp: at(n),
        metadata: { n },
      }),
    );
    await record(many);
    const queries = [
      'actor=rare',
      'actor=rare&runId=many-0',
      `actor=common&runId=many-3&startTime=${at(500)}&endTime=${at(1500)}`,
      `startTime=${at(2000)}`,
      'actor=nobody',
    ];
    const before = await Promise.all(queries.map((query) => search(query, 1000)));
    await vi.waitFor(async () => expect(await blocks()).toBeGreaterThanOrEqual(2), 50_000);
    const after = await Promise.all(queries.map((query) => search(query, 1000)));
    expect(after).toEqual(before);
    const expected = many.filter((each) => (each['actor'] as { name: string }).name === 'rare').length;
    expect([before[0]?.length, before[4]?.length]).toEqual([expected, 0]);
    for (const limit of [1, 7]) expect(await search('actor=rare', limit)).toEqual(before[0]);
  });

  it('a search by time reads the events of that time alone, whatever the order of recording', async () => {
    const year = 525_600;
    const indexed = (await blocks()) + 2;
    await record(
      Array.from({ length: 2 * blockLeaves }, (_, n) =>
        event({ runId: 'mixed', timestamp: at(((n * 7919) % year) - 3 * year), metadata: { n } }),
      ),
    );
    await vi.waitFor(async () => expect(await blocks()).toBeGreaterThanOrEqual(indexed), 20_000);
    const times = `startTime=${at(-3 * year)}&endTime=${at(5000 - 3 * year)}`;
    const found = await search(times, 1000);
    const expected = Array.from({ length: 2 * blockLeaves }, (_, n) => (n * 7919) % year).filter(
      (minute) => minute <= 5000,
    );
    expect(found.map(({ timestamp }) => timestamp)).toEqual(
      expected.toReversed().map((minute) => at(minute - 3 * year)),
    );
    for (const limit of [1, 3]) expect(await search(times, limit)).toEqual(found);
    expect((await search(`${times}&runId=mixed&actor=billing-agent`)).length).toBe(found.length);
    // the blocks of the index all overlap the times, and are not asked
    await plane.sql('UPDATE event_term SET first_ms = 0, last_ms = 0');
    expect(await search(times)).toEqual(found);
  });

  it('GET /events/search shows no event of another project', async () => {
    expect((await page('actor=rare', plane.keys['other'])).events).toEqual([]);
  });

  it('GET /events/search finds an event at once, before a block is full', async () => {
    await record([event({ runId: 'late', actor: 'latecomer', timestamp: at(1) })]);
    expect((await search('actor=latecomer')).map(({ runId }) => runId)).toEqual(['late']);
  });

  it('a cursor of one search is refused by another', async () => {
    const { nextCursor } = await page('actor=common&limit=1');
    const { status, body } = await plane.call('GET', `/events/search?actor=rare&cursor=${nextCursor}`);
    expect([status, body.code]).toEqual([400, 'INVALID_CURSOR']);
  });

  it('a search looks at no more events than its limit before it answers', async () => {
    await record(Array.from({ length: limits.searchLeaves }, () => event({ runId: 'filling' })));
    // the index is lost
    await plane.sql('DELETE FROM event_term');
    await plane.sql('UPDATE event_term_head SET blocks = 0, changes = changes + 1');
    const first = await page('actor=rare&limit=1000');
    expect(first.events).toEqual([]);
    expect(first.nextCursor).not.toBeNull();
    expect((await search('actor=rare', 1000)).length).toBeGreaterThan(40);
  });
});

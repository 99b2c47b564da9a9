import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { blockLeaves } from '../../../src/core/search/places.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { clockPast } from '../../support/clock/later.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { other: { scopes: ['*'], project: 'other' } } });
  const created = await plane.call('POST', '/governance/policies', {
    body: { policyId: 'no-pay', name: 'no-pay', condition: { 'tool.name': 'pay' }, action: 'deny' },
  });
  expect(created.status).toBe(201);
  expect((await plane.call('POST', '/governance/policies/no-pay/publish', { body: {} })).status).toBe(200);
});
afterAll(() => plane.end());

async function evaluate(tool: string, runId: string): Promise<string> {
  const { body } = await plane.call('POST', '/mcp/tools/evaluate', {
    body: { tool: { name: tool }, arguments: {}, runId },
  });
  return body.evaluatedAt as string;
}

interface Page {
  data: { id: string; runId: string; combined: string; evaluatedAt: string; sequence: number }[];
  nextCursor: string | null;
}
const page = async (query: string, key?: string): Promise<Page> =>
  (await plane.call('GET', `/governance/policy/evaluations?${query}`, key === undefined ? {} : { key }))
    .body as Page;

async function list(query: string, limit = 50): Promise<Page['data']> {
  const found: Page['data'] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const more: Page = await page(`${query}&limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    found.push(...more.data);
    cursor = more.nextCursor;
  }
  return found;
}
const runs = async (query: string, limit?: number) => (await list(query, limit)).map(({ runId }) => runId);

describe('GET /governance/policy/evaluations', () => {
  it('a list of evaluations finds them by decision, tool, run and time, newest first', async () => {
    await evaluate('pay', 'one');
    const second = await evaluate('mail', 'two');
    await clockPast(Date.parse(second));
    const third = await evaluate('pay', 'three');
    expect(await runs('decision=deny')).toEqual(['three', 'one']);
    expect(await runs('tool=mail')).toEqual(['two']);
    expect(await runs('tool=pay&decision=allow')).toEqual([]);
    expect(await runs('decision=deny&runId=one')).toEqual(['one']);
    expect(await runs(`startTime=${third}`)).toEqual(['three']);
    expect(await runs(`endTime=${second}`)).toEqual(['two', 'one']);
    expect(await runs('decision=deny', 1)).toEqual(['three', 'one']);
    expect(await runs('')).toEqual(['three', 'two', 'one']);
    expect((await page('decision=deny', plane.keys['other'])).data).toEqual([]);
  });

  it('a list of evaluations finds the same with the index as without', async () => {
    const before = [await list('decision=deny'), await list('tool=pay'), await list('tool=mail')];
    for (let from = 0; from < blockLeaves; from += 500) {
      const events = Array.from({ length: 500 }, (_, n) => event({ runId: 'filling', metadata: { n } }));
      await plane.call('POST', '/events/batch', { body: { events } });
    }
    await vi.waitFor(async () => {
      const [head] = await plane.sql('SELECT max(blocks) AS n FROM event_term_head');
      expect(Number(head?.n ?? 0)).toBeGreaterThanOrEqual(1);
    }, 20_000);
    const after = [await list('decision=deny'), await list('tool=pay'), await list('tool=mail')];
    expect(after).toEqual(before);
    expect(after.map(({ length }) => length)).toEqual([2, 2, 1]);
    // the answer comes from the index: without its terms nothing is found
    await plane.sql('DELETE FROM event_term');
    expect(await list('decision=deny')).toEqual([]);
  });

  it('a list of evaluations refuses a decision that no policy makes, and the cursor of another list', async () => {
    expect((await plane.call('GET', '/governance/policy/evaluations?decision=maybe')).status).toBe(400);
    await evaluate('pay', 'four');
    await evaluate('pay', 'five');
    const { nextCursor } = await page('decision=deny&limit=1');
    const { status, body } = await plane.call(
      'GET',
      `/governance/policy/evaluations?tool=pay&cursor=${nextCursor}`,
    );
    expect([status, body.code]).toEqual([400, 'INVALID_CURSOR']);
  });
});

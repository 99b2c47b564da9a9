import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseTrust } from '../../../src/core/note/trust.ts';
import { verifyAnswer } from '../../../src/core/proofs/answer.ts';
import { limits } from '../../../src/contract/limits.ts';
import type { Answer } from '../../support/answer.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { clockPast } from '../../support/clock/later.ts';

let plane: TestPlane;
/** Server times between the batches. */
const marks: string[] = [];
beforeAll(async () => {
  plane = await startPlane();
  for (const runId of ['one', 'two', 'one']) {
    const events = Array.from({ length: 4 }, (_, n) =>
      event({ runId, eventType: n === 0 ? 'tool.denied' : 'tool.call', metadata: { n } }),
    );
    await plane.call('POST', '/events/batch', { body: { events } });
    await clockPast(Date.now());
    const betweenMs = Date.now();
    marks.push(new Date(betweenMs).toISOString());
    await clockPast(betweenMs);
  }
});
afterAll(() => plane.end());

const trust = async () => {
  const keys = (await plane.call('GET', '/log/key')).text.trim().split('\n');
  return parseTrust(`${keys.map((key) => `log ${key}\n`).join('')}quorum none\n`);
};

async function ask(query: Record<string, string>) {
  const answer = await plane.call('GET', `/log/answers?${new URLSearchParams(query)}`);
  expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, '']);
  const { verified, code, count } = verifyAnswer(answer.bytes, await trust());
  expect([verified, code]).toEqual([true, null]);
  return count;
}

describe('GET /log/answers', () => {
  it('GET /log/answers counts the events of a run and of a type, and shows that none exist', async () => {
    expect(await ask({ runId: 'one' })).toBe(8);
    expect(await ask({ runId: 'nobody' })).toBe(0);
    expect(await ask({ type: 'tool.denied' })).toBe(3);
    expect(await ask({ type: 'tool.never' })).toBe(0);
    expect(await ask({ type: 'gov.genesis/1' })).toBeLessThanOrEqual(1);
  });

  it('GET /log/answers counts the events that were recorded in a period', async () => {
    const [first = '', second = '', third = ''] = marks;
    expect(await ask({ runId: 'one', until: first })).toBe(4);
    expect(await ask({ runId: 'one', since: first, until: second })).toBe(0);
    expect(await ask({ runId: 'one', since: first })).toBe(4);
    expect(await ask({ runId: 'one', since: third })).toBe(0);
    expect(await ask({ type: 'tool.denied', since: first, until: third })).toBe(2);
    expect(
      await ask({ type: 'tool.denied', since: third, until: new Date(Date.now() - 1).toISOString() }),
    ).toBe(0);
  });

  it('GET /log/answers needs no further index leaf for a period that the newest one covers', async () => {
    const leaves = async () => Number((await plane.call('GET', '/log/checkpoint')).text.split('\n')[1]);
    const [first = ''] = marks;
    await ask({ runId: 'one', until: first });
    const before = await leaves();
    expect(await ask({ runId: 'two', until: first })).toBe(0);
    expect(await leaves()).toBe(before);
  });

  it('GET /log/answers needs no further index leaf when no event was recorded since the newest one', async () => {
    const leaves = async () => Number((await plane.call('GET', '/log/checkpoint')).text.split('\n')[1]);
    await ask({ runId: 'one' });
    const before = await leaves();
    expect(await ask({ runId: 'one' })).toBe(8);
    expect(await ask({ type: 'tool.never' })).toBe(0);
    expect(await leaves()).toBe(before);
    await plane.call('POST', '/events', { body: event({ runId: 'three' }) });
    expect(await ask({ runId: 'three' })).toBe(1);
    expect(await leaves()).toBeGreaterThan(before + 1);
  });

  it('GET /log/answers adds a bounded number of index leaves, whoever asks, and then still answers about the past', async () => {
    const own = await startPlane();
    await own.call('POST', '/events', { body: event({ runId: 'r' }) });
    const leaves = async () => Number((await own.call('GET', '/log/checkpoint')).text.split('\n')[1]);
    const before = await leaves();
    const statuses: number[] = [];
    let refused: Answer | undefined;
    for (let at = 0; at < limits.indexAsks + 3; at++) {
      // each is about a time after the newest index leaf
      const nowMs = Date.now();
      await clockPast(nowMs + 1);
      const until = new Date(nowMs).toISOString();
      const answer = await own.call('GET', `/log/answers?${new URLSearchParams({ runId: 'r', until })}`);
      statuses.push(answer.status);
      if (answer.status === 429) refused ??= answer;
    }
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(limits.indexAsks - 1);
    expect(statuses.at(-1)).toBe(429);
    expect(await leaves()).toBeLessThanOrEqual(before + limits.indexAsks + 1);
    expect(refused?.body.code).toBe('RATE_LIMITED');
    expect(Number(refused?.headers['retry-after'])).toBeLessThanOrEqual(limits.indexAskSeconds);
    const covered = /until (\S+Z)/.exec(refused?.body.detail)?.[1] ?? '';
    const past = await own.call('GET', `/log/answers?${new URLSearchParams({ runId: 'r', until: covered })}`);
    expect(past.status).toBe(200);
    await own.end();
  });

  it('GET /log/answers refuses a query for nothing or for two things, and a future time', async () => {
    const later = new Date(Date.now() + 60_000).toISOString();
    for (const query of ['', '?runId=a&type=b', '?runId=a&since=monday', `?runId=a&until=${later}`]) {
      expect((await plane.call('GET', `/log/answers${query}`)).status).toBe(400);
    }
  });

  it('GET /log/answers refuses to answer from rows that differ from the log', async () => {
    const own = await startPlane();
    const events = Array.from({ length: 5 }, (_, n) => event({ runId: 'r', metadata: { n } }));
    await own.call('POST', '/events/batch', { body: { events } });
    const [{ at }] = await own.sql('SELECT max(last_server_ms) AS at FROM run');
    await own.call('POST', '/events/batch', { body: { events } });
    await own.sql('DELETE FROM run_event WHERE run_seq >= 8');
    const since = encodeURIComponent(new Date(at + 1).toISOString());
    const { status, body } = await own.call('GET', `/log/answers?runId=r&since=${since}`);
    expect([status, body.code]).toEqual([503, 'STORAGE_FAULT']);
    expect(body.detail).toContain('index_mismatch');
    await own.end();
  });
});

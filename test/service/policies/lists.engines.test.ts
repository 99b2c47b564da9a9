import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyInForce } from '../../../src/core/policies/language/hash.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
  await create({ policyId: 'before' });
});
afterAll(() => plane.end());

const noShell = { condition: { 'tool.name': 'shell' }, action: 'deny', severity: 'high' };
const create = (members: Record<string, unknown>): Promise<Answer> =>
  plane.call('POST', '/governance/policies', { body: { name: 'No shell', ...noShell, ...members } });
const post = (path: string, body: unknown): Promise<Answer> =>
  plane.call('POST', `/governance/policies/${path}`, { body });
const get = async (policyId: string) => (await plane.call('GET', `/governance/policies/${policyId}`)).body;

describe('lists', () => {
  it('lists of policies have pages, newest first, filtered by status', async () => {
    const ids = Array.from({ length: 5 }, (_, at) => `listed-${at}`);
    for (const policyId of ids) await create({ policyId });
    await post('listed-3/publish', {});
    const seen: string[] = [];
    for (let query = '?limit=2'; seen.length < 6;) {
      const { body } = await plane.call('GET', `/governance/policies${query}`);
      expect(body.data).toHaveLength(2);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      query = `?limit=2&cursor=${body.nextCursor}`;
    }
    expect(seen.slice(0, 5)).toEqual(ids.toReversed());
    const { body } = await plane.call('GET', '/governance/policies?status=active&limit=200');
    expect(body.data.map(({ status }: { status: string }) => status)).not.toContain('draft');
    expect(body.data[0]).toEqual(await get('listed-3'));
  });

  it('lists of versions have pages, newest first, with each version exactly as it was added', async () => {
    await create({ policyId: 'versions' });
    for (let at = 2; at <= 5; at++) await post('versions/versions', { condition: { at }, action: 'warn' });
    const page = async (query: string) =>
      (await plane.call('GET', `/governance/policies/versions/versions${query}`)).body;
    const first = await page('?limit=3');
    const second = await page(`?limit=3&cursor=${first.nextCursor}`);
    const all = [...first.data, ...second.data];
    expect(all.map(({ version }) => version)).toEqual([5, 4, 3, 2, 1]);
    expect(all.map(({ condition }) => condition.at ?? 1)).toEqual([5, 4, 3, 2, 1]);
    expect(second.nextCursor).toBeNull();
  });

  it('lists end a page early when it would be too large', async () => {
    const list = Array.from({ length: 1000 }, (_, at) => `${at}`.padEnd(50, 'x'));
    await create({ policyId: 'large', condition: { 'tool.name': { in: list } } });
    for (let at = 1; at < 70; at++) {
      await post('large/versions', { condition: { 'tool.name': { in: list } }, action: 'warn' });
    }
    const { body } = await plane.call('GET', '/governance/policies/large/versions?limit=200');
    expect(body.data.length).toBeLessThan(70);
    const rest = await plane.call(
      'GET',
      `/governance/policies/large/versions?limit=200&cursor=${body.nextCursor}`,
    );
    expect(body.data.length + rest.body.data.length).toBe(70);
  });
});

describe('a policy in force', () => {
  it('a policy in force is provably part of the set, and no other policy is', async () => {
    for (const policyId of ['force-a', 'force-b', 'force-c']) {
      await create({ policyId });
      await post(`${policyId}/publish`, {});
    }
    const { body } = await plane.call('GET', '/governance/policies/force-b/in-force');
    expect(body.policyHash).toBe((await get('force-b')).active.policyHash);
    expect(verifyInForce(body)).toBe(true);
    expect(verifyInForce({ ...body, policyHash: (await get('force-c')).active.policyHash })).toBe(false);
    await post('force-b/transition', { targetStatus: 'disabled' });
    const gone = await plane.call('GET', '/governance/policies/force-b/in-force');
    expect([gone.status, gone.body.status]).toEqual([404, 404]);
    expect(gone.body.detail).toContain('status disabled');
    expect((await plane.call('GET', '/governance/policies/force-c/in-force')).body.size).toBe(body.size - 1);
  });
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

it('pages of runs miss none and repeat none while runs are touched and made', async () => {
  const record = (...runIds: string[]) =>
    plane.call('POST', '/events/batch', { body: { events: runIds.map((runId) => event({ runId })) } });
  const made = Array.from({ length: 30 }, (_, at) => `run-${at}`);
  await record(...made);
  const seen: string[] = [];
  for (let cursor = ''; ;) {
    const { status, body } = await plane.call('GET', `/runs?limit=4${cursor}`);
    expect(status).toBe(200);
    seen.push(...body.data.map(({ runId }: { runId: string }) => runId));
    if (body.nextCursor === null) break;
    cursor = `&cursor=${body.nextCursor}`;
    await record('run-3', 'run-17', `late-${seen.length}`);
  }
  expect(seen.filter((runId) => made.includes(runId))).toEqual(made.toReversed());
  const again = await plane.call('GET', '/runs?limit=1');
  expect(again.body.data[0].runId).toMatch(/^late-/);
});

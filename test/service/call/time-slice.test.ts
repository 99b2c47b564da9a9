import { afterAll, beforeAll, expect, it } from 'vitest';
import { canonicalize, type Json } from '../../../src/core/json/parse.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

it('a batch of 500 large events is stored in order, and small requests are answered in between', async () => {
  const fields = Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`field${at}`, `value ${at}`]));
  const events = Array.from({ length: 500 }, (_, n) =>
    event({ runId: 'wide', metadata: { ...fields, n }, clientEventId: `wide:${n}` }),
  );
  const raw = canonicalize({ events } as unknown as Json);
  await plane.call('POST', '/events', { body: event() });
  let meanwhile = 0;
  const state = { done: false };
  const sent = plane.call('POST', '/events/batch', { raw }).finally(() => {
    state.done = true;
  });
  while (!state.done) {
    expect((await plane.call('GET', '/health/live')).status).toBe(200);
    if (!state.done) meanwhile += 1;
  }
  const { body } = await sent;
  expect(meanwhile).toBeGreaterThan(1);
  expect(body.results.every(({ status }: { status: string }) => status === 'accepted')).toBe(true);
  const listed = (await plane.call('GET', '/events?runId=wide&limit=1000')).body.events;
  expect(listed.map(({ eventId }: { eventId: string }) => eventId)).toEqual(
    body.results.map(({ eventId }: { eventId: string }) => eventId),
  );
});

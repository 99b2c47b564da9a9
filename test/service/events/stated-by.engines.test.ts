/** Any key that records events can write a balance. The log names the one that did. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { sampleBalance } from '../../core/balance/sample.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { other: { scopes: ['events:write'] } } });
});
afterAll(() => plane.end());

const balance = (more: object = {}) =>
  event({ eventType: 'gov.balance/1', metadata: { ...sampleBalance, here: { calls: 1 }, ...more } });
const post = (body: object, key = plane.key) => plane.call('POST', '/events', { body, key });

it('a balance names the credential that recorded it, and no client can write another', async () => {
  const left = { found: { calls: 2 }, leftOut: { calls: 1, parts: 1 } };
  const honest = { ...balance(left), clientEventId: 'b-1' };
  expect((await post(event({ metadata: { timestampSource: 'source' } }))).status).toBe(201);
  expect((await post(honest)).status).toBe(201);
  expect((await post(balance(), plane.keys['other'])).status).toBe(201);
  expect((await post(honest)).status).toBe(201);

  const { events } = (await plane.call('GET', '/events?runId=run-1&eventType=gov.balance/1')).body;
  const named = events.map(({ metadata }: { metadata: Record<string, unknown> }) => metadata['gov.statedBy']);
  const { data } = (await plane.call('GET', '/api-keys')).body;
  const ids = data.map(({ keyId }: { keyId: string }) => keyId);
  expect(named).toHaveLength(2);
  expect(new Set(named).size).toBe(2);
  expect(ids).toEqual(expect.arrayContaining(named));

  const forged = balance({ 'gov.statedBy': named[0] });
  const refused = await post(forged, plane.keys['other']);
  expect([refused.status, refused.body.errors]).toMatchObject([
    400,
    [{ pointer: '/metadata/gov.statedBy', code: 'NOT_ALLOWED' }],
  ]);
  const batch = await plane.call('POST', '/events/batch', { body: { events: [forged, balance()] } });
  expect(batch.body.results).toMatchObject([{ status: 'rejected' }, { status: 'accepted' }]);
});

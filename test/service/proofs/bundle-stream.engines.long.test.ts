/** Bundles that are sent in parts: the same bytes as one that is made at once, and never with parts of two states. */
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { canonicalize, type Json } from '../../../src/core/json/parse.ts';
import { parseTrust, type Trust } from '../../../src/core/note/trust.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
let trust: Trust;
beforeAll(async () => {
  plane = await startPlane();
  const keys = (await plane.call('GET', '/log/key')).text.trim().split('\n');
  trust = parseTrust(`${keys.map((key) => `log ${key}\n`).join('')}quorum none\n`);
});
afterAll(() => plane.end());

const text = 'x'.repeat(240_000);

/** Records events with 320 KB each in a bundle, and proves them. Returns the path of the bundle. */
async function prove(runId: string, count: number): Promise<{ path: string; ids: string[] }> {
  const ids: string[] = [];
  for (let from = 0; from < count; from += 20) {
    const events = Array.from({ length: Math.min(20, count - from) }, (_, at) =>
      event({ runId, metadata: { text: `${from + at} ${text}` } }),
    );
    const { body } = await plane.call('POST', '/events/batch', { body: { events } });
    for (const { eventId } of body.results as { eventId: string }[]) ids.push(eventId);
  }
  const { body } = await plane.call('POST', '/proofs', { body: { runId } });
  return { path: `/proofs/${body.proofId}/bundle?events=disclosed`, ids };
}

function openSlowly(path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const url = `${plane.baseUrl}${path}`;
    const asked = request(url, { headers: { authorization: `Bearer ${plane.key}` }, agent: false });
    asked.on('error', reject);
    asked.on('response', (response) => resolve(response.pause()));
    asked.end();
  });
}

describe('GET /proofs/{proofId}/bundle of a large run', () => {
  it('a large bundle has its length, canonical bytes, and a verifier that accepts it', async () => {
    const { path } = await prove('large', 30);
    const answer = await plane.call('GET', path);
    expect(answer.status).toBe(200);
    expect(answer.bytes.length).toBeGreaterThan(2 * limits.bundleWholeBytes);
    expect(answer.headers['content-length']).toBe(String(answer.bytes.length));
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(canonicalize(answer.body as Json) === answer.text).toBe(true);
    expect(verifyBundle(answer.bytes, trust)).toMatchObject({
      verified: true,
      digests: { missing: 0 },
      layers: [{ basis: 'recomputed' }, { basis: 'recomputed' }, { basis: 'attested' }],
    });
    const head = await plane.call('HEAD', path);
    expect([head.status, head.headers['content-length'], head.text]).toEqual([
      200,
      String(answer.bytes.length),
      '',
    ]);
    const again = await plane.call('GET', path, { headers: { 'accept-encoding': 'gzip' } });
    expect(again.bytes.equals(answer.bytes)).toBe(true);
  });

  it('a small bundle and a large one have the same form', async () => {
    const { path } = await prove('fewer', 15);
    const large = (await plane.call('GET', path)).body;
    const small = (await plane.call('GET', path.replace('disclosed', 'records'))).body;
    expect(Object.keys(large)).toEqual(Object.keys(small));
    const records = (bundle: { events: { record: string }[] }) => bundle.events.map(({ record }) => record);
    expect(records(large)).toEqual(records(small));
    expect([large.graph, large.eventsInclusion]).toEqual([small.graph, small.eventsInclusion]);
  });

  it('a bundle breaks off when one of its values is erased while it is sent, and then shows the erasure', async () => {
    const { path, ids } = await prove('erased', 90);
    const response = await openSlowly(path);
    const expected = Number(response.headers['content-length']);
    const erased = await plane.call('POST', '/erasures', { body: { eventId: ids.at(-1) } });
    expect(erased.status).toBe(201);
    let received = 0;
    response.on('data', (chunk: Buffer) => (received += chunk.length));
    response.resume();
    const [error] = await once(response, 'error');
    expect((error as NodeJS.ErrnoException).code).toBe('ECONNRESET');
    expect(received).toBeLessThan(expected);
    const after = verifyBundle((await plane.call('GET', path)).bytes, trust);
    expect(after).toMatchObject({ verified: true, digests: { missing: 0 } });
    expect(after.digests!.erased).toBeGreaterThan(0);
  }, 60_000);

  it('a client that leaves in the middle leaves the plane as it was', async () => {
    const { path } = await prove('left', 60);
    for (let time = 0; time < 10; time++) (await openSlowly(path)).destroy();
    expect((await plane.call('GET', path)).status).toBe(200);
  });
});

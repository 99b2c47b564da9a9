import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { readIdempotency, readIdempotencyInSlices } from '../../../src/http/call/idempotency.ts';
import { deriveSecrets } from '../../../src/service/call/secrets.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { second: { scopes: ['*'] } } });
});
afterAll(() => plane.end());

const post = (path: string, key: string, body?: unknown, as = plane.key): Promise<Answer> =>
  plane.call('POST', path, {
    headers: { 'idempotency-key': key },
    key: as,
    ...(body === undefined ? {} : { body }),
  });
const count = async (runId: string): Promise<number> =>
  (await plane.call('GET', `/events/count?runId=${runId}`)).body.count as number;

describe('an Idempotency-Key', () => {
  it('an Idempotency-Key answers a repeat with status, body and headers of the first time', async () => {
    const first = await post('/events', 'once', event({ runId: 'idem-1' }));
    const again = await post('/events', 'once', event({ runId: 'idem-1' }));
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers['location']).toBe(first.headers['location']);
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(await count('idem-1')).toBe(1);
  });

  it('an Idempotency-Key does not depend on the spelling of the body', async () => {
    const text =
      '{"runId":"idem-2","eventType":"t","actor":"a","action":"x","timestamp":"2026-01-01T00:00:00Z"}';
    const first = await plane.call('POST', '/events', {
      raw: text,
      headers: { 'idempotency-key': 'spelling' },
    });
    const other = ` ${text.replace('{', '{ ').replace('"actor":"a",', '')}`.replace(
      '"runId"',
      '"actor":"a", "runId"',
    );
    const again = await plane.call('POST', '/events', {
      raw: other,
      headers: { 'idempotency-key': 'spelling' },
    });
    expect(again.text).toBe(first.text);
  });

  it('an Idempotency-Key of a large batch, which is read in slices, does not depend on the spelling either', async () => {
    const text = 'x'.repeat(200_000);
    const events = [1, 2].map((no) => event({ runId: 'idem-large', metadata: { text, no } }));
    const send = (raw: string) =>
      plane.call('POST', '/events/batch', { raw, headers: { 'idempotency-key': 'large' } });
    const first = await send(JSON.stringify({ events }));
    const again = await send(JSON.stringify({ events }, null, 2));
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text]);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(await count('idem-large')).toBe(2);
    const other = await send(JSON.stringify({ events: events.toReversed() }));
    expect([other.status, other.body.code]).toEqual([400, 'IDEMPOTENCY_KEY_REUSE']);
  });

  it('an Idempotency-Key has the same fingerprint of a list in slices as of the whole', async () => {
    const { fingerprint, fingerprinting } = deriveSecrets(Buffer.alloc(32, 7));
    const pace = { isOver: () => true, next: () => Promise.resolve() };
    const nodes = Array.from({ length: 3000 }, (_, at) => ({ id: `n${at}`, data: { at } }));
    for (const body of [
      { events: [] },
      { events: [1] },
      { events: [{ b: 'é', a: [null] }, '"', 2] },
      { runId: 'r', nodes, edges: [] },
    ]) {
      const request = { caller: null, method: 'POST', route: '/r', url: '/r?x', body };
      const whole = readIdempotency('k', request, { fingerprint });
      expect(await readIdempotencyInSlices('k', request, { fingerprinting, pace })).toEqual(whole);
    }
  });

  it('an Idempotency-Key rejects another request, whatever differs', async () => {
    await post('/events', 'reuse', event({ runId: 'idem-3' }));
    for (const [path, body] of [['/events', event({ runId: 'other' })]] as const) {
      const { status, body: problem } = await post(path, 'reuse', body);
      expect([status, problem.code]).toEqual([400, 'IDEMPOTENCY_KEY_REUSE']);
    }
  });

  it('an Idempotency-Key belongs to one key and one operation', async () => {
    const first = await post('/events', 'scoped', event({ runId: 'idem-4' }));
    const second = await post('/events', 'scoped', event({ runId: 'idem-4' }), plane.keys['second']);
    expect(second.body.eventId).not.toBe(first.body.eventId);
    const batch = await post('/events/batch', 'scoped', { events: [event({ runId: 'idem-4' })] });
    expect(batch.status).toBe(201);
    expect(await count('idem-4')).toBe(3);
  });

  it('an Idempotency-Key has 1 to 255 visible ASCII characters, also as a quoted string', async () => {
    const bad = ['', 'with space', 'ümlaut', 'a'.repeat(limits.idempotencyKeyChars + 1)];
    for (const key of bad) {
      const { status, body } = await post('/events', key, event());
      expect([status, body.errors[0].in], key).toEqual([400, 'header']);
    }
    expect((await post('/events', 'a'.repeat(limits.idempotencyKeyChars), event())).status).toBe(201);
    const first = await post('/events', '"quoted"', event({ runId: 'idem-5' }));
    expect((await post('/events', 'quoted', event({ runId: 'idem-5' }))).text).toBe(first.text);
  });

  it('an Idempotency-Key repeats no refusal: the same request succeeds once its cause is gone', async () => {
    const refused = await post('/proofs', 'refused', { runId: 'idem-6' });
    expect([refused.status, refused.body.code]).toEqual([400, 'RUN_HAS_NO_EVENTS']);
    const missing = await post('/graphs/idem-6/commit', 'commit');
    expect([missing.status, missing.body.code]).toEqual([404, 'NOT_FOUND']);
    const policy = { policyId: 'idem-policy', name: 'x', condition: { a: 1 }, action: 'deny' };
    const publish = () => post('/governance/policies/idem-policy/publish', 'publish', {});
    expect((await publish()).status).toBe(404);

    await plane.call('POST', '/events', { body: event({ runId: 'idem-6' }) });
    await plane.call('POST', '/governance/policies', { body: policy });
    for (const again of [
      await post('/proofs', 'refused', { runId: 'idem-6' }),
      await post('/graphs/idem-6/commit', 'commit'),
      await publish(),
    ]) {
      expect([again.status < 300, again.headers['idempotent-replayed']]).toEqual([true, undefined]);
    }
    const replayed = await post('/proofs', 'refused', { runId: 'idem-6' });
    expect([replayed.status, replayed.headers['idempotent-replayed']]).toEqual([201, 'true']);

    expect((await post('/events', 'invalid', { runId: 'x' })).status).toBe(400);
    expect((await post('/events', 'invalid', event({ runId: 'idem-6' }))).status).toBe(201);
  });

  it('an Idempotency-Key works when nothing is appended: verify, commit', async () => {
    await plane.call('POST', '/events', { body: event({ runId: 'idem-7' }) });
    const proof = await post('/proofs', 'proof', { runId: 'idem-7' });
    const proofAgain = await post('/proofs', 'proof', { runId: 'idem-7' });
    expect([proofAgain.status, proofAgain.text]).toEqual([201, proof.text]);
    expect(proofAgain.headers['location']).toBe(proof.headers['location']);
    for (const [path, body] of [
      ['/proofs/verify', { proofId: proof.body.proofId }],
      ['/graphs/idem-7/commit', undefined],
    ] as const) {
      const first = await post(path, 'plain', body);
      const again = await post(path, 'plain', body);
      expect([again.status, again.text]).toEqual([200, first.text]);
      expect(again.headers['idempotent-replayed']).toBe('true');
    }
  });

  it('an Idempotency-Key lets fifty parallel requests have one effect and one metered unit', async () => {
    const unitsBefore = await plane.units('audit_event');
    const proofsBefore = await plane.units('compliance_proof');
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => post('/events', 'fifty', event({ runId: 'idem-8' }))),
    );
    const proofs = await Promise.all(
      Array.from({ length: 10 }, () => post('/proofs', 'ten', { runId: 'idem-8' })),
    );
    for (const { status, body } of [...answers, ...proofs]) {
      if (status === 409) expect(body.code).toBe('IDEMPOTENCY_IN_FLIGHT');
      else expect(status).toBe(201);
    }
    expect(new Set(answers.filter(({ status }) => status === 201).map(({ text }) => text)).size).toBe(1);
    expect(new Set(proofs.filter(({ status }) => status === 201).map(({ text }) => text)).size).toBe(1);
    expect(await count('idem-8')).toBe(1);
    expect((await plane.units('audit_event')) - unitsBefore).toBe(1);
    expect((await plane.units('compliance_proof')) - proofsBefore).toBe(1);
  });

  it('an Idempotency-Key stores nothing that confirms a guess of the content to a reader of the database', async () => {
    const other = await startPlane();
    const body = event({ runId: 'idem-9', metadata: { pin: '0042' } });
    const kept = await Promise.all(
      [plane, other].map(async (each) => {
        const before = new Set((await each.sql('SELECT key FROM idempotency')).map(({ key }) => key));
        await each.call('POST', '/events', { headers: { 'idempotency-key': 'secret' }, body });
        const rows = await each.sql('SELECT key, fingerprint FROM idempotency');
        return rows.find(({ key }) => !before.has(key)).fingerprint;
      }),
    );
    await other.end();
    expect(kept).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(kept[0]).not.toBe(kept[1]);
  });

  it('an Idempotency-Key in flight says when to repeat', async () => {
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => post('/proofs', 'busy', { runId: 'idem-8' })),
    );
    const busy = answers.filter(({ status }) => status === 409);
    expect(busy.length).toBeGreaterThan(0);
    for (const { headers, body } of busy)
      expect([headers['retry-after'], body.retryable]).toEqual(['1', true]);
  });
});

describe('a clientEventId', () => {
  it('a clientEventId makes a repeat with equal content the same event, counted once', async () => {
    const unitsBefore = await plane.units('audit_event');
    const body = event({ runId: 'client-1', clientEventId: 'client-1:1' });
    const first = await plane.call('POST', '/events', { body });
    const again = await plane.call('POST', '/events', { body });
    const batch = await plane.call('POST', '/events/batch', { body: { events: [body, body] } });
    expect(again.body).toEqual(first.body);
    const { eventId, leafHash } = first.body;
    expect(batch.body.results).toEqual([
      { eventId, leafHash, status: 'accepted' },
      { eventId, leafHash, status: 'accepted' },
    ]);
    expect(await count('client-1')).toBe(1);
    expect((await plane.units('audit_event')) - unitsBefore).toBe(1);
  });

  it('a clientEventId with other content is rejected, and in a batch only its event', async () => {
    const body = event({ runId: 'client-1', clientEventId: 'client-1:1', action: 'other' });
    const single = await plane.call('POST', '/events', { body });
    expect([single.status, single.body.errors[0].code]).toEqual([400, 'CLIENT_EVENT_ID_CONFLICT']);
    const keyed = await post('/events', 'conflict', body);
    expect(keyed.status).toBe(400);
    const batch = await plane.call('POST', '/events/batch', {
      body: { events: [body, event({ runId: 'client-2' })] },
    });
    expect(batch.body.results[0]).toMatchObject({ eventId: null, status: 'rejected' });
    expect(batch.body.results[0].reason).toMatch(/^client_event_id_conflict/);
    expect(batch.body.results[1].status).toBe('accepted');
  });
});

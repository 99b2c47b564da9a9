/** Repeats: kept answers, and clients' own event ids. */
import { describe, expect, it } from 'vitest';
import type { AppendRequest } from '../../../../src/store/port/store.ts';
import { appended, event, request, startMs, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';

const keyed = (key: string, fingerprint = 'f', more: Partial<AppendRequest> = {}): AppendRequest =>
  request([event()], {
    idempotency: {
      key,
      fingerprint,
      response: {
        status: 201,
        body: { pieces: ['[', 0, ']'], event: { before: '"', after: '"' }, conflict: 'null' },
        headers: { location: { pieces: ['/events/', 0], event: { before: '', after: '' }, conflict: '' } },
      },
    },
    ...more,
  });

describe('a repeat under an idempotency key', () => {
  it('fifty requests under one idempotency key have one effect, one metered unit and one answer', async () => {
    const { store, drop } = await open();
    const answers = await Promise.all(Array.from({ length: 50 }, () => store.append(keyed('k'))));
    const bodies = answers.map((answer) =>
      answer.outcome === 'stored' || answer.outcome === 'replayed' ? answer.response?.body : answer.outcome,
    );
    expect(new Set(bodies).size).toBe(1);
    expect(answers.filter(({ outcome }) => outcome === 'stored')).toHaveLength(1);
    expect((await store.totals('prj_a')).audit_event).toBe(1);
    expect((await store.head('prj_a', 'audit')).size).toBe(2);
    await drop();
  });

  it('a repeat under an idempotency key is answered after a restart and refused with other content', async () => {
    const { store, reopen, drop } = await open();
    const { response, assigned } = await stored(store, keyed('k'));
    const { eventId } = assigned[0] as { eventId: string };
    expect(response).toEqual({
      status: 201,
      body: `["${eventId}"]`,
      headers: { location: `/events/${eventId}` },
      leaves: { first: 1, last: 1 },
    });
    const again = await reopen();
    expect(await again.append(keyed('k'))).toEqual({ outcome: 'replayed', response });
    expect(await again.append(keyed('k', 'other'))).toEqual({ outcome: 'key_reused' });
    expect(await again.keptResponse('prj_a', 'k')).toEqual({ fingerprint: 'f', response });
    expect(await again.keptResponse('prj_a', 'unknown')).toBeNull();
    await drop();
  });

  it('a refused request keeps no answer under its idempotency key', async () => {
    const { store, drop } = await open();
    const stale = keyed('k', 'f', { expect: { run: { runId: 'r1', events: 9 } } });
    expect((await store.append(stale)).outcome).toBe('stale');
    const broken = keyed('k2');
    const failing: AppendRequest = {
      ...broken,
      idempotency: {
        ...broken.idempotency!,
        response: {
          status: 201,
          body: { pieces: [1], event: { before: '', after: '' }, conflict: '' }, // there is no second leaf
          headers: {},
        },
      },
    };
    await expect(store.append(failing)).rejects.toThrow();
    expect(await store.keptResponse('prj_a', 'k')).toBeNull();
    expect(await store.keptResponse('prj_a', 'k2')).toBeNull();
    expect((await stored(store, keyed('k2'))).assigned[0]).toMatchObject({ index: 1, runSeq: 0 });
    await drop();
  });

  it('an idempotency key is forgotten after 24 hours, and not a millisecond earlier', async () => {
    const { store, drop } = await open();
    await stored(store, keyed('k'));
    await store.sweep(startMs + 24 * 3_600_000);
    expect(await store.keptResponse('prj_a', 'k')).not.toBeNull();
    await store.sweep(startMs + 24 * 3_600_000 + 1);
    expect(await store.keptResponse('prj_a', 'k')).toBeNull();
    await drop();
  });
});

describe('a client event id', () => {
  const withId = (id: string, fingerprint = 'same') =>
    request([event({ clientEventId: id })], { fingerprints: new Map([[0, fingerprint]]) });

  it('a repeat of a client event id returns the original event and is not counted', async () => {
    const { store, reopen, drop } = await open();
    const [first] = await appended(store, withId('c'));
    const again = await stored(store, withId('c'));
    const { eventId, leafHash } = first!;
    expect(again.assigned).toEqual([{ outcome: 'duplicate', index: 1, eventId, leafHash }]);
    const restarted = await reopen();
    expect((await stored(restarted, withId('c'))).assigned).toEqual(again.assigned);
    expect((await restarted.totals('prj_a')).audit_event).toBe(1);
    expect((await restarted.head('prj_a', 'metering')).size).toBe(2);
    await drop();
  });

  it('a client event id with other content is refused alone in its batch', async () => {
    const { store, drop } = await open();
    await stored(store, withId('c'));
    const batch = request(
      [event(), event({ clientEventId: 'c' }), event({ clientEventId: 'd' }), event({ clientEventId: 'd' })],
      {
        fingerprints: new Map([
          [1, 'other'],
          [2, 'd'],
          [3, 'd'],
        ]),
      },
    );
    const { assigned } = await stored(store, batch);
    expect(assigned.map(({ outcome }) => outcome)).toEqual(['appended', 'conflict', 'appended', 'duplicate']);
    const [first, , third, fourth] = assigned;
    expect([first, third]).toMatchObject([
      { index: 2, runSeq: 1 },
      { index: 3, runSeq: 2 },
    ]);
    expect(fourth).toMatchObject({ index: 3, eventId: (third as { eventId: string }).eventId });
    expect((await store.totals('prj_a')).audit_event).toBe(3);
    await drop();
  });

  it('a client event id with other content refuses a request that must be stored whole', async () => {
    const { store, drop } = await open();
    await stored(store, withId('c'));
    const fingerprints = new Map([
      [0, 'fresh'],
      [1, 'other'],
    ]);
    const events = [event({ clientEventId: 'fresh' }), event({ clientEventId: 'c' })];
    const whole = request(events, { fingerprints, whole: true });
    await expect(store.append(whole)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      errors: [{ code: 'CLIENT_EVENT_ID_CONFLICT' }],
    });
    expect((await store.head('prj_a', 'audit')).size).toBe(2);
    expect((await stored(store, withId('fresh', 'free'))).assigned[0]!.outcome).toBe('appended');
    await drop();
  });

  it('a client event id that is sent many times at once is stored once', async () => {
    const { store, drop } = await open();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => stored(store, withId('c'))));
    const kinds = outcomes.map(({ assigned }) => assigned[0]!.outcome);
    expect(kinds.filter((kind) => kind === 'appended')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'duplicate')).toHaveLength(19);
    expect(new Set(outcomes.map(({ assigned }) => (assigned[0] as { eventId: string }).eventId)).size).toBe(
      1,
    );
    await drop();
  });

  it('a client event id is free again when its request was refused', async () => {
    const { store, drop } = await open();
    const refused = request([event({ clientEventId: 'c' })], {
      effects: [{ kind: 'completeJob', jobId: 'job_none', lease: 'none', result: '{}', atMs: startMs }],
    });
    await expect(store.append(refused)).rejects.toThrow();
    expect((await stored(store, withId('c'))).assigned[0]!.outcome).toBe('appended');
    await drop();
  });
});

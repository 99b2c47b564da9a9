import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

const post = (members: Record<string, unknown> = {}) =>
  plane.call('POST', '/events', { body: event(members) });
const batch = (events: unknown[]) => plane.call('POST', '/events/batch', { body: { events } });
const get = async (path: string) => (await plane.call('GET', path)).body;

describe('POST /events', () => {
  it('POST /events answers 201 with id, run and location, and the event can be read at once', async () => {
    const { status, body, headers } = await post({ runId: 'one' });
    expect([status, body.runId]).toEqual([201, 'one']);
    expect(headers['location']).toBe(`/api/v1/events/${body.eventId}`);
    const read = await get(`/events/${body.eventId}`);
    expect(read).toMatchObject({
      ...event({ runId: 'one' }),
      causedBy: null,
      aiSystemId: null,
      clientEventId: null,
    });
    expect((await get('/events?runId=one')).events).toEqual([read]);
  });

  it('POST /events accepts events as callers of comparable services send them', async () => {
    const members = {
      runId: 'forms',
      actor: { type: 'agent', id: 'a-1' },
      resource: 'ledger',
      causedBy: ['evt-1', 'forms:2'],
      aiSystemId: 'system-1',
      timestamp: '2026-03-01T10:30:00.123456789+01:00',
    };
    const { body } = await post(members);
    expect(await get(`/events/${body.eventId}`)).toMatchObject(members);
    const { resource: _resource, metadata: _metadata, ...bare } = event({ runId: 'forms', actor: 'me' });
    const bareBody = await plane.call('POST', '/events', { body: bare });
    expect(await get(`/events/${bareBody.body.eventId}`)).toMatchObject({
      resource: null,
      metadata: {},
      actor: 'me',
    });
  });

  it('POST /events names every fault with pointer, rule and limit', async () => {
    const { status, body } = await plane.call('POST', '/events', {
      body: {
        eventType: '1bad',
        actor: { id: 'x'.repeat(129) },
        action: '',
        timestamp: 'now',
        causedBy: ['ok', '-no'],
        extra: 1,
      },
    });
    expect([status, body.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(
      body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code]),
    ).toEqual([
      ['/runId', 'MISSING_FIELD'],
      ['/eventType', 'BAD_FORMAT'],
      ['/actor/id', 'TOO_LONG'],
      ['/action', 'TOO_SHORT'],
      ['/timestamp', 'BAD_FORMAT'],
      ['/causedBy/1', 'BAD_FORMAT'],
      ['/extra', 'UNKNOWN_FIELD'],
    ]);
    expect(body.errors[2].limit).toBe(128);
  });

  it('POST /events lists at most fifty faults and says that there are more', async () => {
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`x${at}`, 1]));
    const { body } = await post(many);
    expect([body.code, body.errors.length, body.errorsTruncated]).toEqual([
      'UNKNOWN_FIELD',
      limits.fieldErrors,
      true,
    ]);
    const less = await post(Object.fromEntries(Object.entries(many).slice(0, 50)));
    expect([less.body.errors.length, less.body.errorsTruncated]).toEqual([50, undefined]);
  });

  it('POST /events tells read-only members from unknown ones', async () => {
    for (const name of ['eventId', 'serverTimestamp', 'sequence', 'leafHash']) {
      expect((await post({ [name]: 'x' })).body.code).toBe('READ_ONLY_FIELD');
    }
    expect((await post({ eventID: 'x' })).body.code).toBe('UNKNOWN_FIELD');
  });

  it('POST /events echoes at most 64 characters, with control characters escaped', async () => {
    const { body } = await post({ eventType: `\u001b[31m${'x'.repeat(100)}` });
    expect(body.errors[0].detail).not.toContain('\u001b');
    expect(body.errors[0].detail.length).toBeLessThan(200);
    const bidi = await post({ ['\u202ehidden']: 1 });
    expect(bidi.text).not.toContain('\u202e');
  });

  it('POST /events rejects times too far ahead or before 2000, and no late ones', async () => {
    const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
    const day = limits.futureSkewSeconds * 1000;
    expect((await post({ timestamp: at(day - 60_000) })).status).toBe(201);
    const ahead = await post({ timestamp: at(day + 60_000) });
    expect([ahead.status, ahead.body.errors[0].code]).toEqual([400, 'TIMESTAMP_IN_FUTURE']);
    expect((await post({ timestamp: '2000-01-01T00:00:00Z' })).status).toBe(201);
    expect((await post({ timestamp: '1999-12-31T23:59:59Z' })).status).toBe(400);
    for (const timestamp of [
      '2026-01-01',
      '2026-01-01T00:00:00',
      '2026-02-30T00:00:00Z',
      '2026-01-01T00:00:60Z',
    ]) {
      expect((await post({ timestamp })).status, timestamp).toBe(400);
    }
  });

  it('POST /events rejects events in the run of the service itself', async () => {
    for (const runId of ['gov.system', 'gov.other', 'GOV.SYSTEM', 'Gov.x']) {
      const { status, body } = await post({ runId });
      expect([status, body.code, body.errors[0].pointer]).toEqual([400, 'VALIDATION_ERROR', '/runId']);
      const [result] = (await batch([event({ runId })])).body.results;
      expect([result.status, result.reason.split(':')[0]]).toEqual(['rejected', 'invalid_field']);
    }
    expect((await post({ runId: 'gov' })).status).toBe(201);
    const { events } = await get('/events?runId=gov.system');
    expect(events.map(({ eventType }: { eventType: string }) => eventType)).toContain('api_key.created');
  });
});

describe('POST /events/batch', () => {
  it('POST /events/batch judges each event alone and answers in input order with stable reasons', async () => {
    const future = new Date(Date.now() + 3 * 24 * 3600 * 1000).toISOString();
    const { status, body } = await batch([
      event({ runId: 'mixed' }),
      { ...event(), extra: 1 },
      'text',
      { ...event(), runId: undefined },
      { ...event(), timestamp: future },
      { ...event(), metadata: { big: Array.from({ length: 3 }, () => 'x'.repeat(100_000)) } },
      { ...event(), eventId: 'evt_1' },
      event({ runId: 'mixed', action: 'last' }),
    ]);
    expect(status).toBe(201);
    const reasons = body.results.map(
      ({ reason }: { reason?: string }) => reason?.split(':')[0] ?? 'accepted',
    );
    expect(reasons).toEqual([
      'accepted',
      'unknown_field',
      'invalid_field',
      'missing_field',
      'timestamp_in_future',
      'event_too_large',
      'invalid_field',
      'accepted',
    ]);
    const { events } = await get('/events?runId=mixed');
    expect(events.map(({ eventId }: { eventId: string }) => eventId)).toEqual([
      body.results[0].eventId,
      body.results[7].eventId,
    ]);
  });

  const nested = (levels: number): string => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);
  const text = (members: string): string =>
    `{"runId":"alone","eventType":"x","actor":{"name":"a"},"action":"b","timestamp":"2026-03-01T09:30:00Z",${members}}`;
  const unsafe: readonly (readonly [reason: string, what: string, event: string])[] = [
    [
      'event_too_large',
      'a string past 256 KiB',
      text(`"metadata":{"a":"${'x'.repeat(limits.stringBytes + 1)}"}`),
    ],
    ['too_complex', 'depth 40', text(`"metadata":${nested(40)}`)],
    ['too_complex', 'a name of 257 characters', text(`"metadata":{"${'n'.repeat(257)}":1}`)],
    ['too_complex', 'too many values', text(`"metadata":{"a":[${'1,'.repeat(limits.jsonValuesLarge)}1]}`)],
    ['unsafe_json', 'an unsafe integer', text('"metadata":{"a":9007199254740993}')],
    ['unsafe_json', 'a number beyond a double', text('"metadata":{"a":1e400}')],
    ['unsafe_json', 'a number that a double changes', text('"metadata":{"a":0.12345678901234567890}')],
    ['unsafe_json', 'a lone surrogate', text('"metadata":{"a":"\\ud800"}')],
    ['unsafe_json', 'a lone surrogate in a name', text('"metadata":{"\\udc00":1}')],
    ['unsafe_json', 'U+0000', text('"metadata":{"a":"\\u0000"}')],
    ['unsafe_json', 'a duplicate name', text('"metadata":{"a":1,"a":2}')],
    ['unsafe_json', 'a duplicate member', text('"runId":"other"')],
    ['unsafe_json', 'a value that is no event', '9007199254740993'],
  ];

  it.each(unsafe)(
    'POST /events/batch rejects as %s the event with %s, and stores the others',
    async (reason, _what, bad) => {
      const before = (await get('/events/count?runId=alone')).count;
      const good = text('"metadata":{"ok":true}');
      const events = [good, bad, ...Array.from({ length: 3 }, () => good), ` ${bad}\n`];
      const { status, body } = await plane.call('POST', '/events/batch', {
        raw: `{"events":[${events.join(',')}]}`,
      });
      expect([status, body.code]).toEqual([201, undefined]);
      const reasons = body.results.map(
        (each: { reason?: string }) => each.reason?.split(':')[0] ?? 'accepted',
      );
      expect(reasons).toEqual(['accepted', reason, 'accepted', 'accepted', 'accepted', reason]);
      expect((await get('/events/count?runId=alone')).count).toBe(before + 4);
    },
  );

  it('POST /events/batch repeats its answer to the same unsafe body, and refuses another under the same key', async () => {
    const raw = (bad: string) =>
      `{"events":[${text('"metadata":{"ok":1}')},${text(`"metadata":{"a":${bad}}`)}]}`;
    const headers = { 'idempotency-key': 'unsafe-1' };
    const send = (bad: string) => plane.call('POST', '/events/batch', { raw: raw(bad), headers });
    const first = await send('9007199254740993');
    const again = await send('9007199254740993');
    expect([first.status, again.body, again.headers['idempotent-replayed']]).toEqual([
      201,
      first.body,
      'true',
    ]);
    const other = await send('9007199254740995');
    expect([other.status, other.body.code]).toEqual([400, 'IDEMPOTENCY_KEY_REUSE']);
  });

  it('POST /events/batch answers 400 when the body is no JSON or the envelope is unsafe, and stores nothing', async () => {
    const good = text('"metadata":{"broken":1}').replace('alone', 'whole');
    const bodies: readonly (string | Buffer)[] = [
      `{"events":[${good},{"a":9007199254740993}]`,
      `{"events":[${good},{"a":1e400}}`,
      `{"events":[${good},{"a":"\\ud800"},]}`,
      `{"events":[${good},{"a":1,"a":2} {"b":1}]}`,
      `{"events":[${good},{"a":9007199254740993}]} x`,
      `{"events":[${good}],"events":[${good}]}`,
      `{"events":[${good}],"\\ud800":1}`,
      `{"events":[${good}],"more":9007199254740993}`,
      `{"events":{"a":9007199254740993}}`,
      `[${good},9007199254740993]`,
      Buffer.concat([
        Buffer.from(`{"events":[${good},{"a":"`),
        Buffer.from([0xff]),
        Buffer.from('","b":1e400}]}'),
      ]),
      Buffer.from(`\ufeff{"events":[${good},{"a":1e400}]}`),
      '['.repeat(100_000),
      `{"events":[${good},${'['.repeat(100_000)}]}`,
    ];
    for (const raw of bodies) {
      const { status, body } = await plane.call('POST', '/events/batch', { raw });
      expect([status, typeof body.code], String(raw).slice(0, 200)).toEqual([400, 'string']);
    }
    expect((await get('/events/count?runId=whole')).count).toBe(0);
  });

  it('POST /events/batch answers 201 when every event is rejected, and 400 for the envelope', async () => {
    const rejected = await batch([{}, null]);
    expect([rejected.status, rejected.body.results.map(({ status }: { status: string }) => status)]).toEqual([
      201,
      ['rejected', 'rejected'],
    ]);
    for (const body of [{}, { events: [] }, { events: {} }, { events: [event()], more: 1 }, []]) {
      expect((await plane.call('POST', '/events/batch', { body })).status).toBe(400);
    }
  });

  it('POST /events/batch accepts 500 events and not 501', async () => {
    const events = (count: number) =>
      Array.from({ length: count }, () => event({ runId: 'bounds', metadata: {} }));
    expect((await batch(events(limits.batchEvents))).body.results.length).toBe(500);
    const over = await batch(events(limits.batchEvents + 1));
    expect([over.status, over.body.errors[0].limit]).toEqual([400, 500]);
    expect((await get('/events/count?runId=bounds')).count).toBe(500);
  });

  it('POST /events/batch keeps reasons within 500 characters', async () => {
    const { body } = await batch([{ ...event(), ['k'.repeat(250)]: 1, eventType: 'é'.repeat(300) }]);
    expect(body.results[0].reason.length).toBeLessThanOrEqual(limits.batchReasonChars);
  });
});

describe('a repeated clientEventId', () => {
  it('a repeated clientEventId is the same event when metadata is absent and when it is empty', async () => {
    const { metadata: _metadata, ...bare } = event({ runId: 'again', clientEventId: 'again:1' });
    const first = await plane.call('POST', '/events', { body: bare });
    const empty = await plane.call('POST', '/events', { body: { ...bare, metadata: {} } });
    expect([empty.status, empty.body.eventId]).toEqual([201, first.body.eventId]);
    const other = await plane.call('POST', '/events', { body: { ...bare, metadata: { a: 1 } } });
    expect(other.status).toBe(400);
  });
});

describe('the lists', () => {
  const runId = 'paged';
  const ids: string[] = [];
  beforeAll(async () => {
    const events = Array.from({ length: 25 }, (_, n) =>
      event({
        runId,
        eventType: n % 5 === 0 ? 'model.invoked' : 'tool.call',
        timestamp: `2026-04-01T00:00:${String(n).padStart(2, '0')}Z`,
        metadata: { n },
      }),
    );
    const { body } = await batch(events);
    for (const { eventId } of body.results) ids.push(eventId);
  });

  const all = async (path: string): Promise<string[]> => {
    const found: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: { events: { eventId: string }[]; nextCursor: string | null } = await get(
        cursor === '' ? path : `${path}&cursor=${cursor}`,
      );
      found.push(...page.events.map(({ eventId }) => eventId));
      cursor = page.nextCursor;
    }
    return found;
  };

  it('lists page through every event once, in both orders, whatever the page size', async () => {
    for (const limit of [1, 7, 24, 25, 26]) {
      expect(await all(`/events?runId=${runId}&limit=${limit}`)).toEqual(ids);
      expect(await all(`/events?runId=${runId}&order=desc&limit=${limit}`)).toEqual(ids.toReversed());
    }
  });

  it('lists do not shift when events arrive in between', async () => {
    const first = await get(`/events?runId=${runId}&limit=20`);
    await plane.call('POST', '/events', { body: event({ runId, metadata: { late: true } }) });
    const rest = await get(`/events?runId=${runId}&limit=20&cursor=${first.nextCursor}`);
    expect(rest.events.length).toBe(6);
    expect(rest.events[0].eventId).toBe(ids[20]);
  });

  it('lists filter by type and by inclusive time', async () => {
    expect((await all(`/events?runId=${runId}&eventType=model.invoked`)).length).toBe(5);
    const from = '2026-04-01T00:00:03Z';
    const to = '2026-04-01T00:00:05Z';
    expect(await all(`/events?runId=${runId}&startTime=${from}&endTime=${to}`)).toEqual(ids.slice(3, 6));
    expect((await get(`/events/count?runId=${runId}&startTime=${from}&endTime=${to}`)).count).toBe(3);
    expect((await get(`/events/count?eventType=model.invoked&runId=${runId}`)).count).toBe(5);
  });

  it('lists clamp a limit above the maximum', async () => {
    expect((await get(`/events?runId=bounds&limit=999999999`)).events.length).toBe(500);
    expect((await plane.call('GET', '/runs?limit=201')).status).toBe(200);
    expect((await plane.call('GET', '/runs?limit=1000000000')).status).toBe(400);
  });

  it('lists answer an unknown run with an empty list', async () => {
    expect(await get('/events?runId=nobody')).toEqual({ events: [], nextCursor: null });
    expect((await get('/events/count?runId=nobody')).count).toBe(0);
  });

  it('lists cut a page of large events short, and lose none', async () => {
    const fill = 'x'.repeat(250_000);
    for (let at = 0; at < 3; at += 1) {
      await batch(
        Array.from({ length: 20 }, (_, n) => event({ runId: 'large', metadata: { n: at * 20 + n, fill } })),
      );
    }
    const page = await get('/events?runId=large&limit=1000');
    expect(page.events.length).toBeLessThan(60);
    expect(page.nextCursor).not.toBeNull();
    expect((await all('/events?runId=large&limit=1000')).length).toBe(60);
  });

  it('lists show runs newest first, with their counts', async () => {
    const { data } = await get('/runs?limit=200');
    const times = data.map(({ lastServerTimestamp }: { lastServerTimestamp: string }) => lastServerTimestamp);
    expect(times).toEqual(times.toSorted().toReversed());
    const paged = data.find((run: { runId: string }) => run.runId === runId);
    expect(paged).toMatchObject({
      events: 26,
      firstTimestamp: '2026-03-01T09:30:00.000Z',
      sealed: false,
      proofs: 0,
      lastDecision: null,
    });
    expect((await get('/runs?aiSystemId=system-1')).data.map((run: { runId: string }) => run.runId)).toEqual([
      'forms',
    ]);
    expect((await get('/runs?eventType=nothing')).data).toEqual([]);
  });
});

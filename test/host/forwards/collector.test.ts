/**
 * Each answer that Splunk documents for its HTTP Event Collector, from a real receiver: which records count as sent, as
 * refused, and which are sent again. A record is lost where it is neither.
 */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ofCollector } from '../../../src/host/forwards/collector.ts';
import type { Answer } from '../../../src/host/forwards/exchange.ts';
import { HttpTransport } from '../../../src/host/forwards/http.ts';
import { batch, options, target } from './support/batches.ts';
import { startCollector, type Collector } from './support/receivers.ts';

const sentLines = 3;
const answerOf = (status: number, said: unknown, more: Partial<Answer> = {}): Answer => ({
  status,
  text: typeof said === 'string' ? said : JSON.stringify(said),
  isCut: false,
  isLong: false,
  retryAfterMs: null,
  ...more,
});
const kept = { ok: true, isKept: true };
const again = { ok: false, isRefused: false };
const refused = { ok: false, isRefused: true };

describe('an answer of the HTTP Event Collector', () => {
  it.each([
    [200, 0, 'Success', kept],
    [403, 1, 'Token disabled', again],
    [401, 2, 'Token is required', again],
    [401, 3, 'Invalid authorization', again],
    [403, 4, 'Invalid token', again],
    [400, 5, 'No data', again],
    [400, 6, 'Invalid data format', refused],
    [400, 7, 'Incorrect index', again],
    [500, 8, 'Internal server error', again],
    [503, 9, 'Server is busy', again],
    [400, 10, 'Data channel is missing', again],
    [400, 11, 'Invalid data channel', again],
    [400, 12, 'Event field is required', refused],
    [400, 13, 'Event field cannot be blank', refused],
    [400, 14, 'ACK is disabled', again],
    [400, 15, 'Error in handling indexed fields', refused],
    [400, 16, 'Query string authorization is not enabled', again],
    // the health address, which keeps nothing
    [200, 17, 'HEC is healthy', again],
    [503, 18, 'HEC is unhealthy, queues are full', again],
    [503, 19, 'HEC is unhealthy, ack service unavailable', again],
    [503, 20, 'HEC is unhealthy, queues are full, ack service unavailable', again],
    [400, 21, 'Invalid token', again],
    [400, 22, 'Token disabled', again],
    [503, 23, 'Server is shutting down', again],
    [200, 24, 'Queue is approaching capacity', kept],
    [200, 25, 'Acknowledgement channel is approaching capacity', kept],
    [429, 26, 'Queue is at capacity', again],
    [429, 27, 'Acknowledgement channel is at capacity', again],
  ] as const)('%i with code %i, %s', (status, code, text, outcome) => {
    expect(ofCollector(answerOf(status, { text, code }), sentLines)).toMatchObject(outcome);
  });

  it.each([
    ['<html>Sign in</html>'],
    ['ok'],
    [''],
    ['{}'],
    ['null'],
    ['[0]'],
    ['{"code":"0"}'],
    ['{"code":false}'],
    ['{"text":"Incorrect index","code":7}'],
  ])('200 with the text %j keeps no record', (text) => {
    expect(ofCollector(answerOf(200, text), sentLines)).toMatchObject(again);
  });

  it('200 whose text breaks off counts as taken, as the events were indexed before it began', () => {
    expect(ofCollector(answerOf(200, '', { isCut: true }), sentLines)).toMatchObject(kept);
  });

  it.each([['<html>The plain HTTP request was sent to HTTPS port</html>'], [''], ['null'], ['{"code":99}']])(
    '400 with the text %j blames no record',
    (text) => {
      expect(ofCollector(answerOf(400, text), sentLines)).toMatchObject(again);
    },
  );

  it.each<[reply: object, refusedAt: number | undefined]>([
    [{ code: 6, 'invalid-event-number': 0 }, 0],
    [{ code: 6, 'invalid-event-number': 2 }, 2],
    [{ code: 6, 'invalid-event-number': 3 }, undefined],
    [{ code: 6, 'invalid-event-number': -1 }, undefined],
    [{ code: 6, 'invalid-event-number': 1.5 }, undefined],
    [{ code: 6, 'invalid-event-number': '1' }, undefined],
    [{ code: 6, 'invalid-event-number': null }, undefined],
    [{ code: 12, 'invalid-event-number': 1 }, undefined],
  ])('names the refused one of 3 events by %j', (reply, refusedAt) => {
    const outcome = ofCollector(answerOf(400, reply), sentLines);
    expect(outcome).toMatchObject(refused);
    expect('refusedAt' in outcome ? outcome.refusedAt : undefined).toBe(refusedAt);
  });
});

describe('a connection to the HTTP Event Collector', () => {
  let hec: Collector;
  let transport: HttpTransport;
  beforeEach(async () => {
    hec = await startCollector(() => false);
    transport = new HttpTransport(target('http', { to: hec.url, shape: 'splunk' }), options);
  });
  afterEach(async () => {
    transport.close();
    await hec.close();
  });
  const events = () => batch(0, sentLines, (index) => JSON.stringify({ log: { index } }));

  it.each<[what: string, cut: (response: ServerResponse) => void, outcome: object]>([
    ['before the status', (response) => response.destroy(), again],
    ['in the headers', ({ socket }) => void socket?.end('HTTP/1.1 200 OK\r\ncontent-le'), again],
    [
      'in the text of a 200',
      ({ socket }) => void socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{"text":"Succ'),
      kept,
    ],
    [
      'in the text of a 400',
      ({ socket }) => void socket?.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 90\r\n\r\n{"text":"Inv'),
      again,
    ],
    ['by another protocol', ({ socket }) => void socket?.end('220 smtp.example ESMTP\r\n'), again],
  ])('that ends %s loses and blames no record', async (_, cut, outcome) => {
    hec.instead = (response) => (cut(response), true);
    expect(await transport.send(events())).toMatchObject(outcome);
    hec.instead = () => false;
    expect(await transport.send(events())).toMatchObject(kept);
    expect(hec.indexed).toEqual([0, 1, 2]);
  });
});

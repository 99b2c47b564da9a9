import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Deprecation, Operation } from '../../../src/contract/operation.ts';
import { table } from '../../../src/contract/table.ts';
import { writeRaw, type HeaderLines, type RawAnswer } from '../../../src/http/answer/write.ts';
import { noticeLines } from '../../../src/http/call/mount.ts';
import { send } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';

let stop = (): void => {};
afterEach(() => stop());

/** What a client gets of an answer that is written with these lines. */
async function received(answer: RawAnswer, lines: HeaderLines | null = null): Promise<Answer> {
  const server = createServer((_request, response) =>
    writeRaw(response, { id: 'req-12345678', lines }, answer),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stop = () => void server.close();
  return send('GET', `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {});
}

describe('an answer', () => {
  it('an answer may have a Cache-Control header in one word only', async () => {
    const usual = await received({ status: 200, body: '{}', headers: {} });
    expect(usual.headers['cache-control']).toBe('no-store');
    const own = await received({ status: 200, body: '{}', headers: { 'cache-control': 'no-cache' } });
    expect(own.headers['cache-control']).toBe('no-cache');
  });

  it('an answer has neither length nor type when its status has no body', async () => {
    const { status, text, headers } = await received({ status: 204, body: '', headers: {} });
    expect([status, text]).toEqual([204, '']);
    expect(headers).not.toHaveProperty('content-length');
    expect(headers).not.toHaveProperty('content-type');
    expect(headers).toMatchObject({ 'x-request-id': 'req-12345678', 'gov-api-version': '1.0.0' });
  });

  it('an answer keeps repeated headers, and cookies', async () => {
    const cookie = '__Host-gov_session=abc; Path=/; Secure; HttpOnly; SameSite=Strict';
    const { headers } = await received(
      { status: 200, body: '{}', headers: { link: '<b>; rel="next"', 'set-cookie': cookie } },
      ['link', '<a>; rel="deprecation"', 'set-cookie', 'x=y'],
    );
    expect(headers['link']).toBe('<a>; rel="deprecation", <b>; rel="next"');
    expect(headers['set-cookie']).toEqual(['x=y', cookie]);
  });
});

describe('the notice of an operation', () => {
  // RFC 9745 section 2.1 and RFC 8594 section 3 have these two dates as examples
  const deprecation: Deprecation = {
    since: 1_688_169_599,
    sunset: Date.UTC(2018, 11, 31, 23, 59, 59) / 1000,
    link: 'https://gov.example.com/docs/moving',
  };

  it('an operation that will be removed has the notice of RFC 9745 and RFC 8594', () => {
    const row: Operation = { ...table.countEvents, stability: 'deprecated', deprecation };
    expect(noticeLines(row)).toEqual([
      'deprecation',
      '@1688169599',
      'sunset',
      'Mon, 31 Dec 2018 23:59:59 GMT',
      'link',
      '<https://gov.example.com/docs/moving>; rel="deprecation"',
    ]);
  });

  it('a beta operation says so, and a stable one says nothing', () => {
    expect(noticeLines({ ...table.listRuns })).toEqual(['gov-stability', 'beta']);
    expect(noticeLines({ ...table.listRuns, deprecation })).toHaveLength(8);
    expect(noticeLines(table.countEvents)).toEqual([]);
  });
});

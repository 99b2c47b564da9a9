/** The setting `receipts` as it is served: which answers carry a receipt, and whether the log gives one later. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyReceipt } from '../../../src/core/receipt/cose.ts';
import { receiptChoices } from '../../../src/service/log/receipts.ts';
import type { Answer } from '../../support/answer.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { post, tool, traces } from '../../http/otlp/requests.ts';
import { bytesOf, hashOf, indexOf, trustIn, verified, type Item } from '../support/receipts.ts';

describe.each(receiptChoices)('a service with the setting receipts %s', (receipts) => {
  const hasHeader = receipts === 'commit';
  const page = 'https://app.example';
  let service: TestService;
  let ada: Tenant;
  beforeAll(async () => {
    service = await startService({ file: { receipts, corsOrigins: [page] } });
    ada = await service.signUp('ada');
  });
  afterAll(() => service.end());

  const record = (name: string): Promise<Answer> =>
    ada.call('POST', '/events', {
      body: event({ metadata: { name } }),
      headers: { 'idempotency-key': name, origin: page },
    });
  const has = ({ headers }: Answer): boolean => headers['gov-receipt'] !== undefined;

  it(`an answer and its replay ${hasHeader ? 'carry a receipt' : 'carry none'}, and name the leaf`, async () => {
    const answers = [await record('replayed'), await record('replayed')];
    expect(answers.map(({ headers }) => headers['idempotent-replayed'])).toEqual([undefined, 'true']);
    expect(answers.map(has)).toEqual([hasHeader, hasHeader]);
    const trust = trustIn((await ada.call('GET', '/log/key')).text);
    for (const answer of answers) {
      const item = answer.body as unknown as Item;
      expect(item.leafHash).toMatch(/^sha256:[0-9a-f]{64}$/);
      if (hasHeader) expect(verified(answer, [item], trust).paths[0].index).toBe(indexOf(item));
    }
  });

  it(`GET /log/receipts/{index} answers ${receipts === 'off' ? '404' : 'a receipt at once'}`, async () => {
    const item = (await record('later')).body as unknown as Item;
    const answer = await ada.call('GET', `/log/receipts/${indexOf(item)}`);
    expect(has(answer)).toBe(false);
    if (receipts === 'off') {
      expect([answer.status, answer.body.code]).toEqual([404, 'NOT_FOUND']);
      return;
    }
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/cose']);
    const trust = trustIn((await ada.call('GET', '/log/key')).text);
    expect(verifyReceipt(answer.bytes, [hashOf(item)], trust).paths[0].index).toBe(indexOf(item));
  });

  it(`an answer to OTLP ${hasHeader ? 'carries a receipt of what it stored' : 'carries none'}`, async () => {
    const otlp = { origin: service.origin, key: ada.keys.production };
    const sent = traces(tool(1), tool(2));
    const [first, repeat] = [await post(otlp, 'traces', sent), await post(otlp, 'traces', sent)];
    expect([first.status, repeat.status]).toEqual([200, 200]);
    expect([has(first), has(repeat)]).toEqual([hasHeader, hasHeader]);
    if (!hasHeader) return;
    const trust = trustIn((await ada.call('GET', '/log/key')).text);
    const [one, again] = [first, repeat].map((answer) => verifyReceipt(bytesOf(answer), null, trust));
    expect(again?.leaves).toEqual(one?.leaves);
    const [from, to = from] = one?.paths ?? [];
    const hashes = one?.leaves ?? [];
    expect(hashes).toHaveLength(Number(to?.index) - Number(from?.index) + 1);
    for (const [at, hash] of hashes.entries()) {
      const { bytes } = await ada.call('GET', `/log/receipts/${Number(from?.index) + at}`);
      verifyReceipt(bytes, [hash], trust);
    }
  });

  it('a page on the list may read the header', async () => {
    const { headers } = await record('page');
    expect(String(headers['access-control-expose-headers']).split(/, ?/)).toContain('gov-receipt');
  });
});

/** Share links at a plane and at a service on both engines: who gets the artifact, how often, and until when. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createToken } from '../../../src/service/credentials/token-format.ts';
import { defaultRates } from '../../../src/host/service/config.ts';
import { startService } from '../../support/hosted.ts';
import { reportPeriod } from '../../support/rows.ts';
import type { Answer } from '../../support/answer.ts';
import { event, type TestPlane } from '../../support/serving.ts';
import { startWorld, worlds } from '../../support/worlds.ts';
import { reportEnd } from '../support/filled.ts';

const second = 1000;
const ratesOff = Object.fromEntries(Object.keys(defaultRates).map((name) => [name, 0]));

describe.each(worlds)('a share link on %s', (world) => {
  let at: TestPlane;
  let executionId: string;
  let artifact: Answer;
  beforeAll(async () => {
    at = await startWorld(world, { extraKeys: { reader: { scopes: ['reporting:read'] } } });
    await at.call('POST', '/events', { body: event() });
    const body = {
      reportTemplateId: 'executive-summary',
      formats: ['csv', 'json'],
      parameters: reportPeriod,
    };
    ({ executionId } = (await at.call('POST', '/reporting/executions', { body })).body);
    expect((await reportEnd(at.call, executionId)).status).toBe('completed');
    artifact = await at.call('GET', `/reporting/executions/${executionId}/download?format=csv`);
  });
  afterAll(() => at.end());
  beforeEach(() => void vi.restoreAllMocks());

  const share = async (members: Record<string, unknown> = {}): Promise<Answer['body']> => {
    const path = `/reporting/executions/${executionId}/shares`;
    const created = await at.call('POST', path, { body: { format: 'csv', ...members } });
    expect(created.status, created.text).toBe(201);
    return created.body;
  };
  const open = (url: string, headers: Record<string, string> = {}): Promise<Answer> =>
    at.call('GET', url, { key: null, headers });
  const later = (ms: number): void => {
    const now = Date.now;
    vi.spyOn(Date, 'now').mockImplementation(() => now() + ms);
  };
  const shown = async (shareId: string): Promise<Answer['body']> =>
    (await at.call('GET', `/reporting/executions/${executionId}/shares/${shareId}`)).body;

  it('a share link gives the artifact to anybody, and shows its token once', async () => {
    const { shareId, url, token, ...rest } = await share();
    expect(rest).toMatchObject({ format: 'csv', maxDownloads: null, downloadCount: 0 });
    expect(Date.parse(rest.expiresAt) - Date.parse(rest.createdAt)).toBe(604_800 * second);
    expect(url).toBe(`${at.origin}/api/v1/reporting/shares/${token}/download?format=csv`);
    const { status, bytes, headers } = await open(url);
    expect([status, bytes.equals(artifact.bytes)]).toEqual([200, true]);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
      'content-disposition': artifact.headers['content-disposition'],
    });
    const listed = (await at.call('GET', `/reporting/executions/${executionId}/shares`)).text;
    expect(listed).toContain(shareId);
    expect(listed).not.toContain(token);
    expect((await shown(shareId)).downloadCount).toBe(1);
  });

  it('the store and the log hold no token', async () => {
    const { token } = await share();
    const { events } = (await at.call('GET', '/events?runId=gov.system&limit=1000')).body;
    expect(JSON.stringify(events)).not.toContain(token.slice(8, 40));
  });

  it('tokens that nobody has, and texts that are no tokens, are not found', async () => {
    const { url, token } = await share();
    const wrong = [
      createToken('shr', (size) => Buffer.alloc(size, 9)),
      token.replace(/.$/, (last: string) => (last === 'A' ? 'B' : 'A')),
      token.toUpperCase(),
      token.replace('gov_shr_', 'gov_live_'),
      'x',
      '%00',
      '..%2f..',
      'a'.repeat(5000),
    ];
    for (const each of wrong)
      expect([each, (await open(url.replace(token, each))).status]).toEqual([each, 404]);
    expect((await at.call('GET', `${at.origin}/api/v1/runs`, { key: token })).status).toBe(401);
    // the other environment has none of them
    const elsewhere = `${at.origin}/sandbox/api/v1/reporting/shares/${token}/download?format=csv`;
    expect((await open(elsewhere)).status).toBe(404);
  });

  it('a share link to JSON leads to its signature, which counts as no download and ends with the link', async () => {
    const { url, token, signatureUrl, shareId } = await share({ format: 'json', maxDownloads: 1 });
    expect(signatureUrl).toBe(`${at.origin}/api/v1/reporting/shares/${token}/signature`);
    const { headers } = await open(url);
    expect(headers['link']).toBe(`</api/v1/reporting/shares/${token}/signature>; rel="describedby"`);
    expect((await open(url)).status).toBe(410);
    const got = await open(signatureUrl);
    expect(got.headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-disposition': `attachment; filename="executive-summary-${executionId}.dsse.json"`,
    });
    const { signature } = (await at.call('GET', `/reporting/executions/${executionId}`)).body;
    expect([got.status, got.text]).toEqual([200, JSON.stringify(signature)]);
    expect((await shown(shareId)).downloadCount).toBe(1);
    await at.call('DELETE', `/reporting/executions/${executionId}/shares/${shareId}`);
    expect((await open(signatureUrl)).status).toBe(410);
    const table = await share();
    expect(table.signatureUrl).toBe(null);
    expect((await open(table.url.replace('download?format=csv', 'signature'))).status).toBe(404);
  });

  it('a share link of one format refuses the others', async () => {
    const { url } = await share();
    const { status, body } = await open(url.replace('format=csv', 'format=json'));
    expect([status, body.errors[0]]).toMatchObject([400, { pointer: '/format', in: 'query' }]);
    expect((await open(url.replace('?format=csv', ''))).status).toBe(400);
    expect((await open(url.replace('format=csv', 'format=exe'))).status).toBe(400);
  });

  it('a share link that has expired is gone', async () => {
    const { url, shareId } = await share({ expiresInSeconds: 60 });
    later(59 * second);
    expect((await open(url)).status).toBe(200);
    vi.restoreAllMocks();
    later(61 * second);
    const { status, body } = await open(url);
    expect([status, body.code]).toEqual([410, 'GONE']);
    expect((await shown(shareId)).status).toBe('expired');
  });

  it('a share link that was revoked is gone, and a repeat changes nothing', async () => {
    const { url, shareId } = await share();
    const path = `/reporting/executions/${executionId}/shares/${shareId}`;
    expect((await at.call('DELETE', path)).status).toBe(204);
    expect((await at.call('DELETE', path)).status).toBe(204);
    expect((await open(url)).status).toBe(410);
    expect(await shown(shareId)).toMatchObject({ status: 'revoked', revokedAt: expect.any(String) });
  });

  it('a share link allows as many downloads as it says, however many ask at once', async () => {
    const { url, shareId } = await share({ maxDownloads: 3 });
    const statuses = await Promise.all(Array.from({ length: 12 }, async () => (await open(url)).status));
    expect(statuses.toSorted()).toEqual([200, 200, 200, ...Array.from({ length: 9 }, () => 410)]);
    expect(await shown(shareId)).toMatchObject({ status: 'exhausted', downloadCount: 3 });
  });

  it('a HEAD, a match and a refused range count as no download', async () => {
    const { url, shareId } = await share({ maxDownloads: 1 });
    expect((await at.call('HEAD', url, { key: null })).status).toBe(200);
    expect((await open(url, { 'if-none-match': String(artifact.headers['etag']) })).status).toBe(304);
    expect((await open(url, { range: 'bytes=9007199254740-' })).status).toBe(416);
    expect((await shown(shareId)).downloadCount).toBe(0);
    expect((await open(url, { range: 'bytes=1-' })).status).toBe(206);
    expect((await open(url)).status).toBe(410);
  });

  it.each([
    ['/expiresInSeconds', { expiresInSeconds: 59 }],
    ['/expiresInSeconds', { expiresInSeconds: 2_592_001 }],
    ['/maxDownloads', { maxDownloads: 0 }],
    ['/maxDownloads', { maxDownloads: 1001 }],
    ['/format', { format: 'html' }],
  ])('a share link is refused for %s of %j', async (pointer, members) => {
    const body = { format: 'csv', ...members };
    const answer = await at.call('POST', `/reporting/executions/${executionId}/shares`, { body });
    expect([answer.status, answer.body.errors[0].pointer]).toEqual([400, pointer]);
  });

  it('a share link of 30 days and 1000 downloads is accepted, and one of a missing format is not found', async () => {
    await share({ expiresInSeconds: 2_592_000, maxDownloads: 1000 });
    const path = `/reporting/executions/${executionId}/shares`;
    expect((await at.call('POST', path, { body: { format: 'pdf' } })).status).toBe(404);
  });

  it('a key that may only read reports shares none', async () => {
    const key = at.keys['reader'] ?? '';
    const path = `/reporting/executions/${executionId}/shares`;
    expect((await at.call('POST', path, { key, body: { format: 'csv' } })).status).toBe(403);
    expect((await at.call('GET', path, { key })).status).toBe(200);
  });

  it('a repeat with the same idempotency key gets the same link, whose kept answer is sealed', async () => {
    const path = `/reporting/executions/${executionId}/shares`;
    const asked = { body: { format: 'csv' }, headers: { 'idempotency-key': 'share' } };
    const first = await at.call('POST', path, asked);
    const again = await at.call('POST', path, asked);
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
  });
});

it('a service allows as many downloads a minute by one link as it is told', async () => {
  const service = await startService({ file: { rates: { ...ratesOff, sharesPerMinute: 2 } } });
  try {
    const statusOf = async (fill: number): Promise<number> => {
      const token = createToken('shr', (size) => Buffer.alloc(size, fill));
      return (await service.call('GET', `/reporting/shares/${token}/download?format=csv`)).status;
    };
    expect([await statusOf(1), await statusOf(1), await statusOf(1)]).toEqual([404, 404, 429]);
    expect(await statusOf(2)).toBe(404);
  } finally {
    await service.end();
  }
});

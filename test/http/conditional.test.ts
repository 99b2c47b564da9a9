/** Entity tags, repeated headers and pages on one service, as RFC 9110 and the contract (A7, A9, D3, G9) have them. */
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { table, type OperationId } from '../../src/contract/table.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { riskConfig, rowRequest } from '../support/rows.ts';
import { operationsOf, startWorld, type HostedPlane } from '../support/worlds.ts';
import { fillProject, type Filled } from '../service/support/filled.ts';

let at: HostedPlane;
let made: Filled;
beforeAll(async () => {
  at = (await startWorld('sqlite', { service: {} })) as HostedPlane;
  made = await fillProject(at.call, { name: 'own', projectId: at.projectId });
});
afterAll(() => at.end());

const rows = operationsOf('sqlite');
const row = (id: OperationId): Operation => table[id];

const bodies: Readonly<Record<string, object>> = {
  '/api-keys': { name: 'Brief' },
  '/webhooks/endpoints': { url: 'https://hooks.example/brief' },
  '/reporting/schedules': {
    name: 'Brief',
    reportTemplateId: 'usage-statement',
    window: 'previous_day',
    cron: '0 6 1 1 *',
  },
};

describe('entity tags', () => {
  const tagged = rows.filter((id) => row(id).tagged === true);

  it.each(tagged)('%s answers 304 to the tag of its answer, and 200 to another one', async (id) => {
    const { path } = rowRequest(id, made);
    const { status, headers } = await at.call('GET', path);
    const etag = String(headers['etag']);
    expect([status, etag]).toEqual([200, expect.stringMatching(/^"[\x21\x23-\x7e]+"$/)]);
    for (const list of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const again = await at.call('GET', path, { headers: { 'if-none-match': list } });
      expect([list, again.status, again.text, again.headers['etag']]).toEqual([list, 304, '', etag]);
    }
    const other = await at.call('GET', path, { headers: { 'if-none-match': '"another"' } });
    expect(other.status).toBe(200);
  });

  it('every GET whose answer has an ETag is described as such, and no other', async () => {
    const reads = rows.filter(
      (id) => row(id).method === 'GET' && row(id).ranged !== true && row(id).path !== '/events/stream',
    );
    for (const id of reads) {
      const { status, headers } = await at.call('GET', rowRequest(id, made).path);
      if (status === 200) expect([id, headers['etag'] !== undefined]).toEqual([id, row(id).tagged === true]);
    }
  });

  it.each([
    ['putRiskConfig', 'getRiskConfig', () => ({ ...riskConfig, mode: 'strict' })],
    ['updateProject', 'getProject', () => ({ name: 'Renamed' })],
    ['updateApiKey', 'getApiKey', () => ({ description: 'Other' })],
    ['updateReportSchedule', 'getReportSchedule', () => ({ title: 'Other' })],
    ['updateWebhookEndpoint', 'getWebhookEndpoint', () => ({ description: 'Other' })],
    ['putBranding', 'getBranding', () => ({ companyName: 'Other' })],
    ['putThresholds', 'getThresholds', () => ({ percents: [42] })],
    ['putRetention', 'getRetention', () => ({ retentionDays: 400, legalHold: false })],
  ] as const)('%s with If-Match changes only the state that %s answered', async (put, get, body) => {
    const { method, path } = rowRequest(put, made);
    const read = async () => (await at.call('GET', rowRequest(get, made).path)).headers['etag'];
    const before = String(await read());
    const stale = await at.call(method, path, { body: body(), headers: { 'if-match': '"stale"' } });
    expect([stale.status, stale.body.code, await read()]).toEqual([412, 'PRECONDITION_FAILED', before]);
    const changed = await at.call(method, path, { body: body(), headers: { 'if-match': before } });
    expect([changed.status, changed.headers['etag']]).toEqual([200, await read()]);
    expect(changed.headers['etag']).not.toBe(before);
    const late = await at.call(method, path, { body: body(), headers: { 'if-match': before } });
    expect(late.status).toBe(412);
    const any = await at.call(method, path, { body: body(), headers: { 'if-match': '*' } });
    expect(any.status).toBe(200);
  });

  it('a key that was read before another change answers 412 to its If-Match, not a refusal of its members', async () => {
    const { path } = rowRequest('getApiKey', made);
    const { headers, body } = await at.call('GET', path);
    await at.call('PUT', path, { body: { name: 'Meanwhile' } });
    const stale = await at.call('PUT', path, { body, headers: { 'if-match': String(headers['etag']) } });
    expect([stale.status, stale.body.code]).toEqual([412, 'PRECONDITION_FAILED']);
    expect((await at.call('PUT', path, { body })).body.code).toBe('READ_ONLY_FIELD');
  });

  it('of simultaneous changes of a key with one If-Match, one wins', async () => {
    const { path } = rowRequest('getApiKey', made);
    const etag = String((await at.call('GET', path)).headers['etag']);
    const answers = await Promise.all(
      [1, 2, 3, 4].map((number) =>
        at.call('PUT', path, { body: { description: `${number}` }, headers: { 'if-match': etag } }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412, 412]);
  });

  it.each(['/api-keys', '/webhooks/endpoints', '/reporting/schedules'])(
    'what %s made is deleted only in the state that its If-Match names',
    async (list) => {
      const created = await at.call('POST', list, { body: bodies[list] });
      const path = String(created.headers['location']).replace(/^.*\/api\/v1/, '');
      const stale = await at.call('DELETE', path, { headers: { 'if-match': '"stale"' } });
      expect([stale.status, stale.body.code]).toEqual([412, 'PRECONDITION_FAILED']);
      const etag = String((await at.call('GET', path)).headers['etag']);
      expect((await at.call('DELETE', path, { headers: { 'if-match': etag } })).status).toBe(204);
    },
  );

  it('of simultaneous changes of the risk configuration with one If-Match, one wins', async () => {
    const { headers } = await at.call('GET', '/risk/config');
    const answers = await Promise.all(
      [0.31, 0.32, 0.33, 0.34].map((flag) =>
        at.call('PUT', '/risk/config', {
          body: { ...riskConfig, thresholds: { ...riskConfig.thresholds, flag } },
          headers: { 'if-match': String(headers['etag']) },
        }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412, 412]);
  });

  it('a project is not deleted by a stale If-Match', async () => {
    const { body } = await at.call('POST', '/projects', {
      body: { name: 'Brief', environment: 'production' },
    });
    const stale = await at.call('DELETE', `/projects/${body.id}`, { headers: { 'if-match': '"stale"' } });
    expect(stale.status).toBe(412);
    expect((await at.call('DELETE', `/projects/${body.id}`)).status).toBe(200);
  });
});

describe('a header of one value that comes twice', () => {
  /** Sends header lines as they are. */
  const send = (method: string, path: string, lines: readonly string[]) =>
    new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const { hostname, port } = new URL(at.origin);
      const sent = request(
        { hostname, port, method, path, headers: lines as string[], setHost: false },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          answer.on('end', () => resolve({ status: answer.statusCode, text }));
        },
      );
      sent.on('error', reject).end();
    });
  const host = ['Host', 'gov.example'];

  it.each([
    ['Authorization', 'Bearer a', 'Bearer b'],
    ['Content-Type', 'application/json', 'text/plain'],
    ['Idempotency-Key', 'a', 'b'],
    ['Gov-Project', 'a', 'b'],
    ['Range', 'bytes=0-1', 'bytes=2-3'],
    ['If-Range', '"a"', '"b"'],
    ['Origin', 'https://a.example', 'https://b.example'],
    ['X-Telemetry-Signature', 'a', 'b'],
    ['X-Telemetry-Timestamp', '1', '2'],
    ['Host', 'a.example', 'b.example'],
  ])('two %s headers are refused with 400 that names it', async (name, one, other) => {
    const lines = [...(name === 'Host' ? [] : host), name, one, name.toLowerCase(), other];
    for (const [method, path] of [
      ['GET', '/api/v1/runs'],
      ['POST', '/api/v1/events'],
      ['GET', '/health/live'],
      ['GET', '/nowhere'],
    ] as const) {
      const { status, text } = await send(method, path, lines);
      expect([path, status, JSON.parse(text).errors]).toEqual([
        path,
        400,
        [
          {
            pointer: `/${name.toLowerCase()}`,
            in: 'header',
            code: 'NOT_ALLOWED',
            detail: `expected one ${name} header, got several`,
          },
        ],
      ]);
    }
  });

  it('lists such as Accept and If-None-Match may have several lines', async () => {
    const { headers } = await at.call('GET', '/risk/config');
    const path = '/api/v1/risk/config';
    const lines = ['Authorization', `Bearer ${at.key}`, 'Accept', 'text/html', 'Accept', '*/*'];
    const tags = ['If-None-Match', '"x"', 'If-None-Match', String(headers['etag'])];
    expect((await send('GET', path, [...host, ...lines, ...tags])).status).toBe(304);
  });
});

describe('pages of lists that were one page', () => {
  it.each([
    ['/projects', 'id'],
    ['/reporting/templates', 'reportTemplateId'],
  ])('%s gives all without a limit, and the same by pages', async (path, id) => {
    await Promise.all(
      [1, 2, 3].map((number) =>
        path === '/projects'
          ? at.call('POST', path, { body: { name: `Page ${number}`, environment: 'production' } })
          : at.call('POST', path, { body: { name: `Page ${number}`, sections: ['run-evidence/events'] } }),
      ),
    );
    const whole = (await at.call('GET', path)).body;
    expect(whole.nextCursor).toBe(null);
    expect(whole.data.length).toBeGreaterThan(3);
    const idsOf = (data: Record<string, unknown>[]): unknown[] => data.map((each) => each[id]);
    for (const limit of [1, 2, whole.data.length - 1, whole.data.length]) {
      const pages: unknown[][] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const { body } = await at.call('GET', `${path}?limit=${limit}${more}`);
        pages.push(idsOf(body.data));
        cursor = body.nextCursor;
      }
      expect(pages.flat()).toEqual(idsOf(whole.data));
      expect(pages.length).toBe(Math.ceil(whole.data.length / limit));
    }
    for (const query of ['limit=0', 'limit=x', 'cursor=x', 'page=2'])
      expect((await at.call('GET', `${path}?${query}`)).status).toBe(400);
  });
});

describe('ids', () => {
  it('a policy evaluation of the list has its evaluationId', async () => {
    const { body } = await at.call('GET', '/governance/policy/evaluations');
    expect(body.data.length).toBeGreaterThan(0);
    for (const { id, evaluationId } of body.data) expect(evaluationId).toBe(id);
  });

  it('a sign-up answers organizationId beside orgId', async () => {
    const key = await at.service.idToken('newcomer');
    const body = { name: 'New', organizationName: 'Comers' };
    const answer = await at.service.call('POST', '/auth/signup', { key, body });
    expect([answer.status, answer.body.organizationId]).toEqual([201, answer.body.orgId]);
  });

  it('a key gets 404 for a project of the other environment, as for an unknown one', async () => {
    const sandbox = { name: 'Elsewhere', environment: 'sandbox' };
    const made = await at.tenant.call('POST', '/projects', { environment: 'sandbox', body: sandbox });
    expect(made.status).toBe(201);
    const unknown = 'prj_01jzzzzzzzzzzzzzzzzzzzzzzz';
    for (const [method, body] of [['GET'], ['PUT', { name: 'Mine' }], ['DELETE']] as const) {
      const answers = [];
      for (const id of [made.body.id, unknown]) {
        const answer = await at.call(method, `/projects/${id}`, body === undefined ? {} : { body });
        const { instance: _own, requestId: _its, ...problem } = answer.body;
        answers.push([answer.status, problem]);
      }
      expect(answers[0]).toEqual(answers[1]);
      expect(answers[0]?.[0]).toBe(404);
    }
  });
});

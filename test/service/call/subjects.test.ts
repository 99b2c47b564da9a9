/** What stands at a project's `subjectPointers` is found again by an erasure, or it is not recorded. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { planeServe, type RunningPlane } from '../../../plane/serve/start.ts';
import { limits } from '../../../src/contract/limits.ts';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { defaultSettings, unlimited } from '../../../src/service/call/settings.ts';
import { subjectHasher, subjectsOf } from '../../../src/service/call/subjects.ts';
import { govHere } from '../../cli/support/tool.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';

const { subjectsPerLeaf: most, subjectValueChars: longest } = limits;
const people = (count: number, name = 'p'): string[] =>
  Array.from({ length: count }, (_, at) => `${name}-${at}`);

const project = {
  projectId: 'prj_1',
  organizationId: 'org_1',
  environment: 'production',
  auditOrigin: 'a',
  meteringOrigin: 'm',
} as const;
const services = { fingerprint: (text: string) => Buffer.from(text).toString('hex').slice(-64) };
const hash = subjectHasher(project, services);
const find = (subjectPointers: string[], content: JsonObject) => {
  const rules = { quotas: unlimited, settings: { ...defaultSettings, subjectPointers } };
  const found = subjectsOf({ rules, project }, services)?.(content);
  if (found === undefined) throw new Error('expected a project with subjects');
  return found;
};
const inMetadata = (m: JsonObject) => ({ metadata: m });

describe('the subjects of a content', () => {
  it.each<[string, string[], JsonObject, (string | number)[]]>([
    ['a text', ['/metadata/a'], { a: 'x' }, ['x']],
    ['a number, which is its text', ['/metadata/a', '/metadata/b'], { a: 7, b: '7' }, ['7']],
    ['each item of a list, once', ['/metadata/a'], { a: ['x', 'y', 'x', null, ''] }, ['x', 'y']],
    ['one item of a list', ['/metadata/a/1'], { a: ['x', 'y'] }, ['y']],
    ['what is in an item', ['/metadata/a/0/id'], { a: [{ id: 'x' }] }, ['x']],
    ['what differs by a space or by case', ['/metadata/a'], { a: ['x', ' x', 'X'] }, ['x', ' x', 'X']],
    ['what another pointer leads into', ['/metadata/a', '/metadata/a/id'], { a: { id: 'x' } }, ['x']],
    ['the same where it is text', ['/metadata/a', '/metadata/a/id'], { a: 'x' }, ['x']],
    ['a member whose name has a slash', ['/metadata/a~1b'], { 'a/b': 'x' }, ['x']],
    ['the longest text, in characters', ['/metadata/a'], { a: '𝄞'.repeat(longest) }, ['𝄞'.repeat(longest)]],
    ['nobody where there is nothing', ['/metadata/a', '/metadata/b', '/metadata/c'], { a: null, b: '' }, []],
    [
      'nobody beyond a text or the end of a list',
      ['/metadata/a/id', '/metadata/b/1'],
      { a: 'x', b: ['y'] },
      [],
    ],
    ['as many as it may', ['/metadata/a', '/metadata/b'], { a: people(most), b: 'p-0' }, people(most)],
  ])('the subjects of an event are %s', (_, pointers, metadata, subjects) => {
    expect(find(pointers, inMetadata(metadata))).toEqual({ subjects: subjects.map(hash) });
  });

  it.each<[string, string[], JsonObject, object]>([
    ['an object', ['/metadata/a'], { a: { id: 'x' } }, { code: 'WRONG_TYPE', pointer: '/metadata/a' }],
    ['a truth value', ['/metadata/a'], { a: true }, { code: 'WRONG_TYPE', pointer: '/metadata/a' }],
    [
      'an object in a list',
      ['/metadata/a', '/metadata/a/0/id'],
      { a: ['x', { id: 'y' }] },
      { code: 'WRONG_TYPE', pointer: '/metadata/a/1' },
    ],
    ['a list in a list', ['/metadata/a'], { a: [['x']] }, { code: 'WRONG_TYPE', pointer: '/metadata/a/0' }],
    [
      'a list on the way to a name',
      ['/metadata/a/id'],
      { a: [{ id: 'x' }] },
      {
        code: 'WRONG_TYPE',
        pointer: '/metadata/a',
        detail: expect.stringContaining('/metadata/a/id continues below'),
      },
    ],
    [
      'a text that nobody could ask for',
      ['/metadata/a'],
      { a: '𝄞'.repeat(longest + 1) },
      {
        code: 'TOO_LONG',
        pointer: '/metadata/a',
        limit: longest,
        detail: expect.stringContaining(`got ${longest + 1}`),
      },
    ],
    [
      'one more than it may',
      ['/metadata/a', '/metadata/none', '/metadata/b'],
      { a: people(most), b: 'other' },
      {
        code: 'TOO_MANY',
        pointer: '/metadata/b',
        limit: most,
        detail: expect.stringMatching(
          new RegExp(`at most ${most} .*got ${most + 1}.*/metadata/a, /metadata/b`),
        ),
      },
    ],
  ])('the subject of an event cannot be %s', (_, pointers, metadata, fault) => {
    expect(find(pointers, inMetadata(metadata))).toEqual({ fault: expect.objectContaining(fault) });
  });
});

describe.each(engines)('what cannot be found by its subject, on %s', (engine) => {
  let service: TestService;
  let acme: Tenant;
  beforeAll(async () => {
    service = await startService({ engine });
    acme = await service.signUp('Ann');
  });
  afterAll(() => service.end());

  const point = async (subjectPointers: string[]) => {
    const { projectId } = (await acme.call('GET', '/auth/identity')).body;
    const body = { settings: { subjectPointers } };
    expect((await acme.call('PUT', `/projects/${projectId}`, { body })).status).toBe(200);
  };
  const post = (path: string, body: object, headers = {}) => acme.call('POST', path, { body, headers });
  const about = (customer: unknown, members: object = {}) => event({ metadata: { customer }, ...members });
  const erase = async (subject: string) => (await post('/erasures', { subject })).body;
  const countOf = async (runId: string): Promise<number> =>
    (await acme.call('GET', `/events/count?runId=${runId}`)).body.count;

  it('a value that no erasure could find is recorded as long as no pointer names it', async () => {
    const headers = { 'idempotency-key': 'before-the-pointers' };
    const first = await post('/events', about(people(most + 1)), headers);
    expect(first.status).toBe(201);
    await point(['/metadata/customer', '/actor', '/actor/id']);
    const again = await post('/events', about(people(most + 1)), headers);
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect((await post('/events', about(people(most + 1)))).status).toBe(400);
  });

  it('an event whose subject no erasure could find is rejected with the place, the limit and the remedy', async () => {
    expect((await post('/events', about(people(most, 'q'), { runId: 'one' }))).status).toBe(201);
    const { status, body } = await post('/events', about(people(most + 1, 'q'), { runId: 'one' }));
    expect([status, body.code]).toEqual([400, 'VALIDATION_ERROR']);
    const [{ pointer, limit, detail }] = body.errors;
    expect([pointer, limit]).toEqual(['/metadata/customer', most]);
    expect(detail).toBe(
      `expected at most ${most} subjects, got ${most + 1}: an erasure by one of the others would not find it; ` +
        `send several, each about at most ${most} (they are at /metadata/customer)`,
    );
    expect(await countOf('one')).toBe(1);
    expect(await erase(`q-${most - 1}`)).toMatchObject({ leaves: 1, complete: true });
    expect(await erase(`q-${most}`)).toMatchObject({ leaves: 0, complete: true });
  });

  it('a batch rejects an event whose subject no erasure could find, and records the others', async () => {
    const runId = 'batch';
    const events = [people(most, 'r'), people(most + 1, 'r'), { id: 'r-0' }, 'x'.repeat(longest + 1), 'r-0'];
    const body = { events: events.map((customer) => about(customer, { runId })) };
    const headers = { 'idempotency-key': 'a-batch' };
    const answer = await post('/events/batch', body, headers);
    expect(answer.status).toBe(201);
    const reasons = answer.body.results.map(({ reason = null }) => reason);
    expect(reasons).toEqual([
      null,
      expect.stringMatching(/^invalid_field: \/metadata\/customer expected at most 16 subjects, got 17/),
      expect.stringMatching(/^invalid_field: \/metadata\/customer expected text, .*got object/),
      expect.stringMatching(/^invalid_field: \/metadata\/customer expected at most 1024 .*got 1025/),
      null,
    ]);
    expect((await post('/events/batch', body, headers)).body).toEqual(answer.body);
    expect(await countOf(runId)).toBe(2);
    expect(await erase('r-0')).toMatchObject({ leaves: 2, complete: true });
  });

  it('an evaluation whose subject no erasure could find is rejected with its place in the body', async () => {
    const actor = { id: { name: 'x' } };
    const evaluated = await post('/governance/policy/evaluate', {
      runId: 'e',
      checkpoint: { context: { actor } },
    });
    expect([evaluated.status, evaluated.body.errors?.[0].pointer]).toEqual([
      400,
      '/checkpoint/context/actor/id',
    ]);
    const tool = { tool: { name: 't' }, arguments: {}, runId: 'e' };
    const context = { metadata: { customer: people(most + 1) } };
    const called = await post('/mcp/tools/evaluate', { ...tool, context });
    expect([called.status, called.body.errors?.[0].pointer]).toEqual([400, '/context/metadata/customer']);
    const list = await acme.call('GET', '/governance/policy/evaluations?runId=e');
    expect([list.body.data, await countOf('e')]).toEqual([[], 0]);
  });

  it('a tool call whose subject no erasure could find is rejected with event and evaluation', async () => {
    const call = (actor: unknown) =>
      post('/mcp/tools/evaluate', { tool: { name: 't' }, arguments: {}, runId: 'tools', actor });
    for (const actor of ['tool-user', { id: 'tool-user' }]) expect((await call(actor)).status).toBe(200);
    expect(await erase('tool-user')).toMatchObject({ leaves: 4, complete: true });
    const { text } = await acme.call('GET', '/events?runId=tools');
    expect(text).not.toContain('tool-user');
    await point(['/resource']);
    const { status, body } = await call('somebody');
    expect([status, body.errors?.[0].detail]).toEqual([
      400,
      expect.stringContaining('its event tool.evaluated'),
    ]);
  });
});

describe('a plane', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gov-subjects-'));
  const dataDir = join(folder, 'plane');
  let plane: RunningPlane;
  beforeAll(async () => {
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    const path = join(dataDir, 'plane.json');
    const file = JSON.parse(readFileSync(path, 'utf8')) as object;
    writeFileSync(path, JSON.stringify({ ...file, subjectPointers: ['/metadata/customer'] }));
    plane = await planeServe({ dataDir, log: silentLog, env: {} });
  });
  afterAll(async () => {
    await plane.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('a plane rejects an event whose subject no erasure could find, and gov events push reports its line', async () => {
    const events = [people(most), people(most + 1), ['z']].map((customer) =>
      event({ metadata: { customer } }),
    );
    writeFileSync(join(folder, 'in.ndjson'), events.map((each) => JSON.stringify(each)).join('\n'));
    const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
    const env = { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: key, XDG_STATE_HOME: folder };
    const pushed = await govHere(['events', 'push', 'in.ndjson', '-o', 'json'], { env, cwd: folder });
    expect([pushed.code, JSON.parse(pushed.stdout)]).toEqual([
      9,
      expect.objectContaining({ accepted: 2, rejected: 1 }),
    ]);
    expect(pushed.stderr).toContain(
      `in.ndjson:2: rejected: invalid_field: /metadata/customer expected at most`,
    );
    const erased = await govHere(['erase', '--subject', `p-${most - 1}`, '--yes', '-o', 'json'], {
      env,
      cwd: folder,
    });
    expect(JSON.parse(erased.stdout)).toMatchObject({ leaves: 1 });
  });
});

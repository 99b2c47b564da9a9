/** Run tokens (contract B20), on a plane and on a service with either engine. */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessOf, type Operation } from '../../../src/contract/operation.ts';
import { table } from '../../../src/contract/table.ts';
import { createRunToken, runScopes, type RunClaims } from '../../../src/core/run-token.ts';
import { sha256 } from '../../../src/core/hash.ts';
import { Credentials } from '../../../src/service/credentials/callers.ts';
import { runKeyDocument } from '../../../src/service/credentials/run-keys.ts';
import { createKey } from '../../../src/service/credentials/token-format.ts';
import { nobodysIds, rowRequest } from '../../support/rows.ts';
import { event, type TestPlane } from '../../support/serving.ts';
import { operationsOf, startWorld, worlds } from '../../support/worlds.ts';
import { log, logs, post, tool, traces } from '../otlp/requests.ts';

const runId = 'nightly-7';
const call = { tool: { name: 'Bash' }, arguments: { command: 'ls' } };

describe.each(worlds)('a run token on %s', (world) => {
  let at: TestPlane;
  let projectId: string;
  const keyIds: Record<string, string> = {};
  beforeAll(async () => {
    at = await startWorld(world, {
      extraKeys: { recorder: { scopes: ['events:write'] }, other: { scopes: ['*'], project: 'other' } },
    });
    for (const [name, key] of Object.entries({ own: at.key, ...at.keys })) {
      const { body } = await at.call('GET', '/auth/identity', { key });
      keyIds[name] = body.id;
      if (name === 'own') ({ projectId } = body);
    }
  });
  afterAll(() => at.end());

  const tokenOf = (key = at.key, keyId = keyIds['own'] ?? '', more: Partial<RunClaims> = {}): string =>
    createRunToken(
      { keyId, key },
      { runId, projectId, expiresMs: Date.now() + 60_000, scopes: runScopes, ...more },
    );
  const write = (key: string, run = runId) =>
    at.call('POST', '/events', { key, body: event({ runId: run }) });
  const evaluate = (key: string, members: object = {}) =>
    at.call('POST', '/mcp/tools/evaluate', { key, body: { ...call, ...members } });
  const eventsOf = async (run: string): Promise<{ eventType: string }[]> =>
    (await at.call('GET', `/events?runId=${run}`)).body.events;

  it('evaluates and records in its own run, which it need not name', async () => {
    const key = tokenOf();
    expect([(await write(key)).status, (await evaluate(key, { runId })).status]).toEqual([201, 200]);
    expect((await evaluate(key)).status).toBe(200);
    const types = (await eventsOf(runId)).map(({ eventType }) => eventType);
    expect(types).toEqual(['tool.call', 'tool.evaluated', 'tool.evaluated']);
  });

  it('does nothing in another run', async () => {
    const key = tokenOf();
    const refused = await write(key, 'other');
    expect([refused.status, refused.body.errors[0].pointer]).toEqual([400, '/runId']);
    expect((await evaluate(key, { runId: 'other' })).status).toBe(403);
    const { status, body } = await at.call('POST', '/events/batch', {
      key,
      body: { events: [event({ runId: 'other' }), event({ runId })] },
    });
    const statuses = body.results.map((each: { status: string }) => each.status);
    expect([status, statuses]).toEqual([201, ['rejected', 'accepted']]);
    expect(await eventsOf('other')).toEqual([]);
  });

  it('repeats no answer of another run of its key', async () => {
    const ask = async (run: string) => {
      const key = tokenOf(undefined, undefined, { runId: run });
      const headers = { 'idempotency-key': 'one-for-all' };
      return (await at.call('POST', '/mcp/tools/evaluate', { key, headers, body: call })).body.evaluationId;
    };
    const [first, other, again] = [await ask('keyed-1'), await ask('keyed-2'), await ask('keyed-1')];
    expect([other === first, again]).toEqual([false, first]);
    expect((await eventsOf('keyed-2')).map(({ eventType }) => eventType)).toEqual(['tool.evaluated']);
  });

  it('sends telemetry to its own run, whatever run the telemetry names', async () => {
    const key = tokenOf(undefined, undefined, { runId: 'told' });
    expect((await post(at, 'traces', traces(tool(1)), { key })).status).toBe(200);
    const prompt = log({ 'event.name': 'user_prompt', 'session.id': 'talk', prompt: 'hi' });
    expect((await post(at, 'logs', logs(prompt), { key })).status).toBe(200);
    const types = (await eventsOf('told')).map(({ eventType }) => eventType);
    expect(types).toEqual(['tool.call', 'run.linked']);
    expect((await eventsOf('talk')).map(({ eventType }) => eventType)).toEqual(['prompt.submitted']);
  });

  it('calls no operation but those of its two scopes', async () => {
    const key = tokenOf();
    const open: string[] = [];
    for (const id of operationsOf(world)) {
      const row: Operation = table[id];
      if (row.tag === 'Health' || !['project', 'organization', 'caller'].includes(accessOf(table[id])))
        continue;
      const { method, path, body } = rowRequest(id, nobodysIds);
      const answer = await at.call(method, path, { key, ...(body === undefined ? {} : { raw: 'no JSON' }) });
      if (answer.status !== 401 && answer.status !== 403) open.push(id);
    }
    expect(open.toSorted()).toEqual(['awaitApproval', 'createEvent', 'createEvents', 'evaluateTool']);
  });

  it('never has more scopes than its key', async () => {
    const key = tokenOf(at.keys['recorder'], keyIds['recorder']);
    expect([(await write(key)).status, (await evaluate(key)).status]).toEqual([201, 403]);
  });

  it('is refused with another MAC, project or end, in the same words as any unknown credential', async () => {
    const [head, claims, mac] = tokenOf().split('.');
    const other = tokenOf(undefined, undefined, { runId: 'other' }).split('.')[1];
    const tokens = [
      `${head}.${other}.${mac}`,
      `${head}.${claims}.${tokenOf('gov_live_x').split('.')[2]}`,
      tokenOf(at.key, 'key_01jzzzzzzzzzzzzzzzzzzzzzzz'),
      tokenOf(at.key, keyIds['own'], { projectId: 'prj_01jzzzzzzzzzzzzzzzzzzzzzzz' }),
      tokenOf(at.key, keyIds['own'], { expiresMs: Date.now() - 1 }),
      tokenOf(at.keys['other'], keyIds['other']),
    ];
    for (const key of tokens) {
      const { status, body } = await write(key);
      expect([status, body.code, body.detail], key).toEqual([
        401,
        'INVALID_CREDENTIAL',
        'expected a valid credential, got one that is unknown, revoked or expired',
      ]);
    }
  });

  it('is not made by who reads the database: the stored hash of the key is not its run key', async () => {
    const [, claims = ''] = tokenOf().split('.');
    const mac = createHmac('sha256', sha256(at.key)).update(`gov.runtoken/1\n${keyIds['own']}\n${claims}`);
    const forged = `gov_run_${keyIds['own']}.${claims}.${mac.digest('base64url')}`;
    expect((await write(forged)).status).toBe(401);
  });

  it('ends when its key is revoked', async () => {
    if (!operationsOf(world).includes('revokeApiKey')) return;
    const made = (await at.call('POST', '/api-keys', { body: { name: 'brief' } })).body;
    const key = tokenOf(made.key, made.record.keyId);
    expect((await write(key)).status).toBe(201);
    await at.call('DELETE', `/api-keys/${made.record.keyId}`);
    expect((await write(key)).status).toBe(401);
  });
});

describe('the end of a run token', () => {
  it('is exact: it works one millisecond before, and is refused at its end', async () => {
    const project = {
      projectId: 'prj_01jzzzzzzzzzzzzzzzzzzzzzzz',
      organizationId: 'org_01jzzzzzzzzzzzzzzzzzzzzzzz',
      environment: 'production',
      auditOrigin: 'a',
      meteringOrigin: 'm',
    } as const;
    const options = { name: 'a', scopes: ['*'], nowMs: 0, randomBytes: (n: number) => Buffer.alloc(n, 7) };
    const { token: key, row } = createKey(project, options);
    const nobody = async () => null;
    const seal = { seal: (text: string) => `sealed ${text}`, open: (text: string) => text.slice(7) };
    const runKey = runKeyDocument(key, { keyId: row.keyId, createdMs: 0, seal });
    let nowMs = 0;
    const credentials = new Credentials({
      store: {
        apiKey: async () => ({ key: row, project, stored: null }),
        apiKeyOf: async (projectId, keyId) =>
          projectId === project.projectId && keyId === row.keyId ? row : null,
        document: async (projectId) => ({ ...runKey.save, projectId }),
        planeOfKey: nobody,
        session: nobody,
        user: nobody,
        organization: nobody,
        storedProject: nobody,
      },
      now: () => nowMs,
      seal,
      hosting: null,
    });
    const token = createRunToken(
      { keyId: row.keyId, key },
      { runId, projectId: project.projectId, expiresMs: 5000, scopes: runScopes },
    );
    const identify = async () => {
      const shown = { token, cookie: null, project: null };
      const found = credentials.identify(shown, { environment: 'production', needsProject: true });
      return 'lookUp' in found ? found.lookUp() : found;
    };
    nowMs = 4999;
    expect(await identify()).toMatchObject({ id: row.keyId, run: runId, scopes: [...runScopes] });
    nowMs = 5000;
    await expect(identify()).rejects.toThrow('expected a valid credential');
  });
});

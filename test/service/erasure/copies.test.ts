/** Copies of erased values beside bodies go with them: results of replays, and answers that are kept for repeats. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fsckStore } from '../../../src/store/fsck/run.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { endOf, exportEnd } from '../support/filled.ts';

const canary = 'CNRYreplayed';
const signalled = 'CNRYsignal';

describe.each(engines)('copies of erased values, on %s', (engine) => {
  let service: TestService;
  let acme: Tenant;
  beforeAll(async () => {
    service = await startService({ engine });
    acme = await service.signUp('Ann');
  });
  afterAll(() => service.end());
  const call = (method: string, path: string, body?: unknown) =>
    acme.call(method, path, body === undefined ? {} : { body });
  const record = async (runId: string, action: string): Promise<string> =>
    (await call('POST', '/events', event({ runId, action, metadata: { card: action } }))).body.eventId;
  const replay = async (body: object): Promise<{ jobId: string; replayId: string }> => {
    const { jobId } = (await call('POST', '/replay', body)).body;
    return { jobId, replayId: (await endOf(acme.call, jobId)).result.replayId };
  };
  const text = async (path: string): Promise<string> => JSON.stringify((await call('GET', path)).body);

  it('an erasure removes copies of values from replay results of the run and of compared runs', async () => {
    const eventId = await record('a', canary);
    await record('b', 'plain');
    const own = await replay({ runId: 'a' });
    const compared = await replay({ runId: 'b', compareRunId: 'a' });
    const other = await replay({ runId: 'b' });
    const before = await text(`/replay/${other.replayId}`);
    for (const { replayId, jobId } of [own, compared]) {
      expect(await text(`/replay/${replayId}`)).toContain(canary);
      expect(await text(`/jobs/${jobId}`)).toContain(canary);
    }
    const asked = { resource: 'replays', format: 'json' };
    const { exportId } = (await call('POST', '/exports', asked)).body;
    expect(await exportEnd(acme.call, exportId)).toMatchObject({ status: 'completed' });

    expect((await call('POST', '/erasures', { eventId })).status).toBe(201);
    for (const { replayId, jobId } of [own, compared]) {
      const { status, body } = await call('GET', `/replay/${replayId}`);
      expect([status, body.replayId, body.steps]).toEqual([200, replayId, []]);
      expect(body.warnings).toEqual([expect.stringMatching(/^steps showed values that leaf \d+ /)]);
      expect((await call('GET', `/jobs/${jobId}`)).body.result).toEqual(body);
    }
    expect(await text(`/replay/${other.replayId}`)).toBe(before);
    expect((await call('GET', `/exports/${exportId}`)).body.status).toBe('expired');
    const again = await replay({ runId: 'a' });
    expect((await call('GET', `/replay/${again.replayId}`)).body.steps).toHaveLength(1);
    expect(await text(`/replay/${again.replayId}`)).not.toContain(canary);
  });

  it('an erasure ends the reports that may show the value, and no others', async () => {
    const eventId = await record('reported', canary);
    await record('unharmed', 'plain');
    const now = Date.now();
    const time = (hours: number): string => new Date(now + hours * 3_600_000).toISOString();
    const report = async (reportTemplateId: string, parameters: object) => {
      const body = { reportTemplateId, formats: ['json'], parameters };
      const created = await call('POST', '/reporting/executions', body);
      expect(created.status, created.text).toBe(202);
      return `/reporting/executions/${created.body.executionId}`;
    };
    const today = { startTime: time(-1), endTime: time(1) };
    const ended = [
      await report('run-evidence', { ...today, runId: 'reported' }),
      await report('ai-act-logging', today),
    ];
    const stay = [
      await report('run-evidence', { ...today, runId: 'unharmed' }),
      await report('ai-act-logging', { startTime: time(-240), endTime: time(-216) }),
    ];
    const statusOf = async (path: string) => (await call('GET', path)).body.status;
    for (const path of [...ended, ...stay])
      await expect.poll(() => statusOf(path), { timeout: 20_000 }).toBe('completed');
    const file = `${ended[0]}/download?format=json`;
    expect((await call('GET', file)).text).toContain(canary);
    const link = await call('POST', `${ended[0]}/shares`, { format: 'json' });
    expect(link.status, link.text).toBe(201);

    expect((await call('POST', '/erasures', { eventId })).status).toBe(201);
    expect(await Promise.all(ended.map(statusOf))).toEqual([410, 410]);
    expect(await Promise.all(stay.map(statusOf))).toEqual(['completed', 'completed']);
    expect((await call('GET', file)).status).toBe(404);
    expect((await acme.call('GET', link.body.url)).status).toBe(410);
    expect(await text(`${ended[0]}?includeData=true`)).not.toContain(canary);
  });

  it('an erasure removes copies from stored responses to repeats', async () => {
    const evaluate = (key: string) =>
      acme.call('POST', '/risk/evaluate', {
        headers: { 'idempotency-key': key },
        body: { runId: 'r', evaluationSignals: [{ signal: signalled, value: 0.5 }] },
      });
    const first = (await evaluate('one')).body;
    const second = (await evaluate('two')).body;
    expect((await evaluate('one')).body).toEqual(first);
    expect((await call('POST', '/erasures', { decisionId: first.id })).status).toBe(201);
    expect((await evaluate('two')).body).toEqual(second);
    expect((await evaluate('one')).body.id).not.toBe(first.id);
  });
});

describe('a plane', () => {
  let plane: TestPlane;
  beforeAll(async () => {
    plane = await startPlane();
  });
  afterAll(() => plane.end());

  it('a plane without the removed results is intact, but not when a result went without an erasure', async () => {
    const { eventId } = (await plane.call('POST', '/events', { body: event({ runId: 'a', action: canary }) }))
      .body;
    const { jobId } = (await plane.call('POST', '/replay', { body: { runId: 'a' } })).body;
    const { replayId } = (await endOf(plane.call, jobId)).result;
    await plane.call('POST', '/erasures', { body: { eventId } });
    const kinds = async () => {
      const { problems } = await fsckStore({ dataDir: plane.dataDir, deep: true });
      return problems.map(({ kind }) => kind);
    };
    expect(await kinds()).toEqual([]);
    await plane.sql(`UPDATE job SET result = '{"erasedBy":1}' WHERE result_id = '${replayId}'`);
    expect(await kinds()).toEqual(['replay_mismatch']);
    expect((await plane.call('GET', `/replay/${replayId}`)).status).toBe(503);
  });
});

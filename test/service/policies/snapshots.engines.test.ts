import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { startPlane, type Answer, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

const snapshot = {
  policyHash: 'sha256:00',
  modelRoute: 'openai/gpt-5/2026-01',
  toolRegistryHash: 'tools-1',
  configStateHash: '',
};
const put = (runId: string, body: unknown = snapshot): Promise<Answer> =>
  plane.call('PUT', `/governance/snapshots/${runId}`, { body });
const leaves = async (): Promise<string[]> =>
  (await plane.records())
    .map(({ record }) => record)
    .filter((record) => record.includes('"type":"gov.snapshot/1"'));

describe('a snapshot of a run', () => {
  it('is kept as it was put, with the model route committed to and not in clear', async () => {
    expect((await put('run-1')).body).toEqual({ runId: 'run-1', ...snapshot });
    expect((await plane.call('GET', '/governance/snapshots/run-1')).body).toEqual({
      runId: 'run-1',
      ...snapshot,
    });
    expect(await leaves()).toHaveLength(1);
    expect((await leaves())[0]).not.toContain(snapshot.modelRoute);
  });

  it('that tells nothing is refused, since it would stay', async () => {
    const nothing = { policyHash: '', modelRoute: '', toolRegistryHash: '', configStateHash: '' };
    expect((await put('run-empty', nothing)).status).toBe(400);
    expect((await plane.call('GET', '/governance/snapshots/run-empty')).status).toBe(404);
  });

  it('stays: the same again is answered, another one refused with what differs', async () => {
    expect((await put('run-1')).status).toBe(200);
    const other = await put('run-1', { ...snapshot, modelRoute: 'other', configStateHash: 'x' });
    expect([other.status, other.body.code, other.body.fields]).toEqual([
      409,
      'CONFLICT',
      ['modelRoute', 'configStateHash'],
    ]);
    expect((await plane.call('GET', '/governance/snapshots/run-1')).body.modelRoute).toBe(
      snapshot.modelRoute,
    );
    expect(await leaves()).toHaveLength(1);
  });

  it('is the first of several that are put at once', async () => {
    const before = (await leaves()).length;
    const routes = ['a', 'b', 'c', 'd', 'a'];
    const answers = await Promise.all(routes.map((modelRoute) => put('raced', { ...snapshot, modelRoute })));
    const { modelRoute: kept } = (await plane.call('GET', '/governance/snapshots/raced')).body;
    expect(answers.map(({ status }) => status)).toEqual(routes.map((route) => (route === kept ? 200 : 409)));
    expect(await leaves()).toHaveLength(before + 1);
  });

  it('is unknown before, and of malformed ids', async () => {
    const none = await plane.call('GET', '/governance/snapshots/nobody');
    const bad = await plane.call('GET', '/governance/snapshots/-bad');
    expect([none.status, none.body.detail]).toEqual([404, 'no snapshot of this project has this id']);
    expect([bad.status, bad.body.detail]).toEqual([404, none.body.detail]);
  });

  it('has members of bounded length, all of them, for runs of one’s own', async () => {
    const long = { ...snapshot, modelRoute: 'é'.repeat(limits.snapshotChars) };
    expect((await put('long', long)).status).toBe(200);
    const longer = await put('longer', { ...snapshot, modelRoute: `${long.modelRoute}é` });
    expect([longer.status, longer.body.errors[0].pointer]).toEqual([400, '/modelRoute']);
    const { modelRoute: _route, ...rest } = snapshot;
    expect((await put('longer', rest)).body.errors[0]).toMatchObject({ code: 'MISSING_FIELD' });
    expect((await put('longer', { ...snapshot, extra: 1 })).body.code).toBe('UNKNOWN_FIELD');
    expect((await put('gov.system')).body.errors[0]).toMatchObject({ pointer: '/runId', in: 'path' });
    expect((await plane.call('GET', '/governance/snapshots/longer')).status).toBe(404);
  });
});

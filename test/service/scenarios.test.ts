/** One request for every operation and every status that its row documents. */
import Database from 'better-sqlite3';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Operation } from '../../src/contract/operation.ts';
import { table } from '../../src/contract/table.ts';
import { event, startPlane, type TestPlane } from '../serving.ts';
import { anonymous, ids, policy, scenarios, snapshot } from './scenarios.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { person: { scopes: ['approvals:decide'] } } });
  ids['person'] = plane.keys['person'] ?? '';
  const { body } = await plane.call('POST', '/events', { body: event() });
  ids['event'] = body.eventId;
  const proof = await plane.call('POST', '/proofs', { body: { runId: 'run-1' } });
  ids['proof'] = proof.body.proofId;
  const job = await plane.call('POST', '/proofs', { body: { runId: 'run-1', async: true } });
  ids['job'] = job.body.jobId;
  const replay = await plane.call('POST', '/replay', { body: { runId: 'run-1' } });
  for (const jobId of [ids['job'], replay.body.jobId]) {
    for (let done = null; done?.status !== 'completed';) {
      done = (await plane.call('GET', `/jobs/${jobId}`)).body;
      ids['replay'] = done.result?.replayId;
    }
  }
  await plane.call('POST', '/events', { body: event({ runId: 'sealed' }) });
  await plane.call('POST', '/graphs/sealed/commit');
  await plane.call('POST', '/governance/policies', { body: { policyId: 'p', ...policy } });
  await plane.call('POST', '/governance/policies/p/publish', { body: {} });
  await plane.call('PUT', '/governance/snapshots/run-1', { body: snapshot });
  const always = { policyId: 'ask', name: 'Ask', condition: { 'tool.name': 'pay' }, action: 'escalate' };
  await plane.call('POST', '/governance/policies', { body: always });
  await plane.call('POST', '/governance/policies/ask/publish', { body: {} });
  const asked = { runId: 'run-1', checkpoint: { context: { tool: { name: 'pay' } } } };
  ids['approval'] = (
    await plane.call('POST', '/governance/policy/evaluate', { body: asked })
  ).body.approvalId;
});
afterAll(() => plane.end());

/** Where else a documented pair is provoked, or why it cannot be here. */
const elsewhere: Readonly<Record<string, string>> = {
  'retryJob 202': 'test/service/jobs.test.ts',
  'getHealth 503': 'only once the writer stopped: test/plane/lifecycle.test.ts',
  'getLiveness 503': 'an event loop that does not turn answers nothing',
  'getReadiness 503': 'below',
};

describe('every operation', () => {
  it.each(scenarios.map((scenario) => [`${scenario[0]} ${scenario[1]}`, scenario] as const))(
    'answers %s',
    async (_name, [id, status, path, options]) => {
      const row: Operation = table[id];
      const answer = await plane.call(row.method, path(), options?.() ?? {});
      expect(answer.status, answer.text.slice(0, 300)).toBe(status);
    },
  );

  it('is asked for every status that its row documents', () => {
    const missing = Object.entries<Operation>(table).flatMap(([id, row]) =>
      [...Object.keys(row.success).map(Number), ...row.statuses]
        // a plane limits no rates and has no quotas; 500 is provoked below
        .filter((status) => status !== 429 && status !== 500)
        .map((status) => `${id} ${status}`)
        .filter((pair) => !plane.seen.has(pair) && !Object.hasOwn(elsewhere, pair)),
    );
    expect(missing).toEqual([]);
  });

  it('answers 503 and names the leaf where one was altered below it', async () => {
    const { sequence } = (await plane.call('GET', `/events/${ids['event']}`)).body;
    const db = new Database(join(plane.dataDir, 'gov.db'));
    db.exec('DROP TRIGGER leaf_update');
    db.exec(`UPDATE leaf SET record = replace(record, 'tool.call', 'tool.cart') WHERE idx = ${sequence}`);
    db.close();
    const tile = `/log/tile/entries/000.p/${sequence + 1}`;
    for (const path of [`/events/${ids['event']}`, '/events?runId=run-1', tile]) {
      const { status, body } = await plane.call('GET', path);
      expect([status, body.code, body.index]).toEqual([503, 'STORAGE_FAULT', sequence]);
    }
  });

  it('of health answers 503 and reasons where a write would not be durable', async () => {
    const probe = join(plane.dataDir, 'probe');
    rmSync(probe, { force: true });
    mkdirSync(probe);
    // the probe of a second ago is still good; the one after it is not
    for (let status = 200; status === 200;) status = (await plane.call('GET', '/health/ready')).status;
    const { status, body } = await plane.call('GET', '/health/ready');
    expect([status, body.status, body.reasons]).toEqual([503, 'unavailable', ['write_probe_failed']]);
    const overall = await plane.call('GET', '/health');
    expect([overall.status, overall.body.status]).toEqual([200, 'degraded']);
    expect((await plane.call('GET', '/health', anonymous)).body.reasons).toBeUndefined();
    expect((await plane.call('GET', '/health/live')).status).toBe(200);
  });
});

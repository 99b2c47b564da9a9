import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Operation } from '../../src/contract/operation.ts';
import { table } from '../../src/contract/table.ts';
import { event, startPlane, type Answer, type TestPlane } from '../serving.ts';

let plane: TestPlane;
let theirs: Record<string, string>;
let cursors: Record<string, string>;

const version = { condition: { 'tool.name': 'shell' }, action: 'deny' };
const snapshot = { policyHash: 'a', modelRoute: 'b', toolRegistryHash: 'c', configStateHash: 'd' };

/** What POST rows with an id in their path take. */
const bodies: Readonly<Record<string, unknown>> = {
  '/governance/policies/{policyId}/versions': version,
  '/governance/policies/{policyId}/publish': {},
  '/governance/policies/{policyId}/transition': { targetStatus: 'archived' },
  '/governance/policies/{policyId}/rollback': { targetVersion: 1 },
  '/governance/policies/{policyId}/simulate': { checkpoint: {} },
  '/governance/policies/{policyId}/impact': { proposedVersion: version, sampleCheckpoints: [{}] },
  '/governance/policies/{policyId}/impact/history': { proposedVersion: version },
  '/approvals/{approvalId}/decision': { outcome: 'approved' },
};

/** Ids of the same form that nobody has. */
const nobodys: Record<string, string> = {
  eventId: 'evt_01jzzzzzzzzzzzzzzzzzzzzzzz',
  proofId: 'prf_01jzzzzzzzzzzzzzzzzzzzzzzz',
  jobId: 'job_01jzzzzzzzzzzzzzzzzzzzzzzz',
  runId: 'nobodys-run',
  policyId: 'nobodys-policy',
  approvalId: 'apr_01jzzzzzzzzzzzzzzzzzzzzzzz',
  replayId: 'rpl_01jzzzzzzzzzzzzzzzzzzzzzzz',
};

beforeAll(async () => {
  plane = await startPlane({ extraKeys: { other: { scopes: ['*'], project: 'other' } } });
  const runId = 'their-run';
  const first = await plane.call('POST', '/events', { body: event({ runId }) });
  await plane.call('POST', '/events', { body: event({ runId }) });
  await plane.call('POST', '/events', { body: event({ runId: 'their-second-run' }) });
  const proof = await plane.call('POST', '/proofs', { body: { runId } });
  await plane.call('POST', '/proofs', { body: { runId } });
  const job = await plane.call('POST', '/proofs', { body: { runId, async: true } });
  await plane.call('POST', '/proofs', { body: { runId, async: true } });
  await plane.call('PUT', `/governance/snapshots/${runId}`, { body: snapshot });
  for (const policyId of ['their-policy', 'their-second-policy']) {
    await plane.call('POST', '/governance/policies', { body: { policyId, name: 'Theirs', ...version } });
  }
  const policyId = 'their-policy';
  await plane.call('POST', `/governance/policies/${policyId}/publish`, { body: {} });
  await plane.call('POST', '/governance/policies', {
    body: { policyId: 'ask', name: 'Ask', condition: {}, action: 'escalate' },
  });
  await plane.call('POST', '/governance/policies/ask/publish', { body: {} });
  await plane.call('POST', `/governance/policies/${policyId}/versions`, { body: version });
  let approvalId = '';
  for (let at = 0; at < 2; at++) {
    const body = { runId, checkpoint: { context: { tool: { name: 'ls' } } } };
    ({ approvalId } = (await plane.call('POST', '/governance/policy/evaluate', { body })).body);
    await plane.call('POST', '/risk/evaluate', { body: { runId } });
  }
  await plane.call('POST', '/replay', { body: { runId } });
  const replay = await plane.call('POST', '/replay', { body: { runId } });
  let replayId: string | undefined;
  while (replayId === undefined) {
    replayId = (await plane.call('GET', `/jobs/${replay.body.jobId}`)).body.result?.replayId;
  }
  theirs = {
    replayId,
    eventId: first.body.eventId,
    proofId: proof.body.proofId,
    jobId: job.body.jobId,
    runId,
    policyId,
    approvalId,
  };
  cursors = {};
  for (const path of [
    '/events?runId=their-run&limit=1',
    '/runs?limit=1',
    '/proofs?limit=1',
    '/jobs?limit=1',
    '/governance/policies?limit=1',
    '/governance/policy/evaluations?limit=1',
    '/approvals?limit=1',
    '/risk/decisions?limit=1',
    '/replay?limit=1',
  ]) {
    cursors[path] = (await plane.call('GET', path)).body.nextCursor;
  }
});
afterAll(() => plane.end());

const asOther = (method: string, path: string, body?: unknown): Promise<Answer> =>
  plane.call(method, path, { key: plane.keys['other'] ?? '', ...(body === undefined ? {} : { body }) });

const fill = (path: string, ids: Record<string, string>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? name);

/** The answer without what names the request. */
const comparable = ({ status, text, headers }: Answer): unknown[] => {
  // the length of a body is that of its request id and of the text that is compared
  const { 'x-request-id': id, date: _date, 'content-length': _length, ...rest } = headers;
  return [status, text.replaceAll(String(id), 'ID'), rest];
};

describe('another tenant', () => {
  const withIds = Object.values<Operation>(table).filter(({ path }) => /\{\w+\}/.test(path));

  it.each(withIds.map((row) => [`${row.method} ${row.path}`, row] as const))(
    'gets from %s what an id that nobody has gets',
    async (_name, row) => {
      // a graph may be declared for any run of one's own, so that row is compared where it answers about ids
      const body =
        row.method === 'PUT'
          ? { nodes: [], edges: [{ source: theirs['eventId'], target: theirs['eventId'], type: 'causes' }] }
          : bodies[row.path];
      const real = await asOther(row.method, fill(row.path, theirs), body);
      const none = await asOther(row.method, fill(row.path, nobodys), body);
      expect(real.status).toBeGreaterThanOrEqual(400);
      expect(comparable(real)).toEqual(comparable(none));
    },
  );

  it('finds nothing in lists and counts', async () => {
    expect((await asOther('GET', '/events?runId=their-run')).body).toEqual({ events: [], nextCursor: null });
    expect((await asOther('GET', '/events/count')).body.count).toBe(0);
    for (const path of [
      '/runs',
      '/proofs',
      '/jobs',
      '/proofs?runId=their-run',
      '/governance/policies',
      '/governance/policy/evaluations',
      '/governance/policy/evaluations?runId=their-run',
      '/approvals',
      '/risk/decisions',
      '/replay',
      '/replay?runId=their-run',
    ]) {
      expect((await asOther('GET', path)).body).toEqual({ data: [], nextCursor: null });
    }
  });

  it('cannot verify or prove what is not theirs', async () => {
    const real = await asOther('POST', '/proofs/verify', { proofId: theirs['proofId'] });
    const none = await asOther('POST', '/proofs/verify', { proofId: nobodys['proofId'] });
    expect([real.status, real.body.code]).toEqual([400, 'PROOF_NOT_FOUND']);
    expect(comparable(real)).toEqual(comparable(none));
    const proof = await asOther('POST', '/proofs', { runId: 'their-run' });
    expect([proof.status, proof.body.code]).toEqual([400, 'RUN_HAS_NO_EVENTS']);
  });

  it('may use the same run and client ids for other things', async () => {
    const created = await asOther('POST', '/events', event({ runId: 'shared', clientEventId: 'shared:1' }));
    const own = await plane.call('POST', '/events', {
      body: event({ runId: 'shared', clientEventId: 'shared:1', action: 'different' }),
    });
    expect([created.status, own.status]).toEqual([201, 201]);
    expect((await plane.call('GET', '/events/count?runId=shared')).body.count).toBe(1);
  });

  it('has a log, keys and proofs of its own', async () => {
    const [ours, other] = [
      await plane.call('GET', '/log/checkpoint'),
      await asOther('GET', '/log/checkpoint'),
    ];
    expect(ours.text.split('\n')[0]).not.toBe(other.text.split('\n')[0]);
    await asOther('POST', '/events', event({ runId: 'own' }));
    const proof = await asOther('POST', '/proofs', { runId: 'own', composed: { layers: ['log_inclusion'] } });
    expect(proof.body.layers.every(({ verified }: { verified: boolean }) => verified)).toBe(true);
    expect((await asOther('POST', '/proofs/verify', { proofId: proof.body.proofId })).body.verified).toBe(
      true,
    );
  });

  it('cannot use a cursor that is not theirs', async () => {
    for (const [path, cursor] of Object.entries(cursors)) {
      expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
      const { status, body } = await asOther('GET', `${path}&cursor=${cursor}`);
      expect([status, body.code], path).toEqual([400, 'INVALID_CURSOR']);
    }
  });
});

describe('a cursor', () => {
  it('continues its own list to the end, and no other list or filter', async () => {
    const [path, cursor] = ['/events?runId=their-run&limit=1', cursors['/events?runId=their-run&limit=1']];
    const next = await plane.call('GET', `${path}&cursor=${cursor}`);
    expect([next.body.events.length, next.body.nextCursor]).toEqual([1, null]);
    const wrong = [
      `/events?runId=their-second-run&cursor=${cursor}`,
      `/events?runId=their-run&order=desc&cursor=${cursor}`,
      `/events?runId=their-run&eventType=x&cursor=${cursor}`,
      `/runs?cursor=${cursor}`,
      `/jobs?cursor=${cursor}`,
      `/runs?cursor=${cursor?.slice(0, -1)}`,
      `/runs?cursor=${'A'.repeat(60)}`,
      '/runs?cursor=x',
    ];
    for (const each of wrong) {
      const { status, body } = await plane.call('GET', each);
      expect([status, body.code], each).toEqual([400, 'INVALID_CURSOR']);
    }
  });

  it('shows nothing of the position it holds', () => {
    for (const cursor of Object.values(cursors)) {
      expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toMatch(/their|run|prf|job|\d{5}/);
    }
  });
});

/** Exports of what a project holds, on both engines: rows are what the API answers, in every format. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { exportEnd, fillProject, type Filled } from '../support/filled.ts';

describe.each(engines)('an export on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let filled: Filled;
  const get = async (path: string): Promise<Answer['body']> => (await tenant.call('GET', path)).body;

  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
    const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
    filled = await fillProject(tenant.call, { name: 'ada', projectId });
  });
  afterAll(() => service.end());

  const create = async (body: Record<string, unknown>): Promise<Answer['body']> => {
    const created = await tenant.call('POST', '/exports', { body });
    expect([created.status, created.headers['location']]).toEqual([
      202,
      `/api/v1/exports/${created.body.exportId}`,
    ]);
    return exportEnd(tenant.call, created.body.exportId);
  };

  /** The artifact, held against what the export says of it. */
  const download = async (body: Record<string, unknown>): Promise<string> => {
    const made = await create(body);
    expect(made).toMatchObject({ status: 'completed', errorSummary: null });
    const { bytes, headers } = await tenant.call('GET', `/exports/${made.exportId}/download`);
    const digest = createHash('sha256').update(bytes).digest();
    expect([made.sizeBytes, made.sha256]).toEqual([bytes.length, `sha256:${digest.toString('hex')}`]);
    expect(headers['repr-digest']).toBe(`sha-256=:${digest.toString('base64')}:`);
    return bytes.toString('utf8');
  };
  const artifact = async (body: Record<string, unknown>): Promise<Answer['body']> =>
    JSON.parse(await download({ format: 'json', ...body }));

  it('an export of audit events has each event below its tree size, as a single read returns it, in log order', async () => {
    const { data, manifest, ...head } = await artifact({ resource: 'audit_events' });
    expect(head).toMatchObject({ schemaVersion: '1.0', resource: 'audit_events', filters: {} });
    const sequences = data.map(({ sequence }: { sequence: number }) => sequence);
    expect(sequences).toEqual(sequences.toSorted((a: number, b: number) => a - b));
    expect(manifest).toMatchObject({
      rowCount: data.length,
      firstSequence: sequences[0],
      lastSequence: sequences.at(-1),
    });
    expect(manifest.treeSize).toBeGreaterThan(sequences.at(-1));
    for (const row of data) expect(row).toEqual(await get(`/events/${row.eventId}`));
    const { count } = await get('/events/count?startTime=2000-01-01T00:00:00Z');
    expect(data.length).toBeGreaterThan(20);
    expect(count).toBeGreaterThan(data.length); // with what was recorded of the export since
  });

  it('an export of a run, a type or a time has only those events', async () => {
    const { runId } = filled;
    const ids = ({ data }: Answer['body']) => data.map(({ eventId }: { eventId: string }) => eventId);
    const { events } = await get(`/events?runId=${runId}`);
    const wanted = events.map(({ eventId }: { eventId: string }) => eventId);
    expect(ids(await artifact({ resource: 'audit_events', filters: { runId } }))).toEqual(wanted);
    const type = { runId, eventType: 'tool.call' };
    expect(ids(await artifact({ resource: 'audit_events', filters: type }))).toEqual(wanted);
    const created = await artifact({ resource: 'audit_events', filters: { eventType: 'export.created' } });
    expect(new Set(created.data.map((row: Answer['body']) => row.runId))).toEqual(new Set(['gov.system']));
    const until = { endTime: '2026-03-01T09:30:00Z' };
    const early = await artifact({ resource: 'audit_events', filters: until });
    expect(ids(early)).toEqual(expect.arrayContaining(wanted));
    expect(early.data.every((row: Answer['body']) => row.runId !== 'gov.system')).toBe(true);
    const none = { runId: 'nobody', startTime: '2026-03-01T09:30:00Z' };
    expect(await artifact({ resource: 'audit_events', filters: none })).toMatchObject({
      data: [],
      manifest: { rowCount: 0, firstSequence: null, lastSequence: null },
    });
  });

  it.each([
    ['risk_decisions', '/risk/decisions'],
    ['policy_evaluations', '/governance/policy/evaluations'],
    ['compliance_proofs', '/proofs'],
    ['jobs', '/jobs'],
  ])('an export of %s has the same rows as the list', async (resource, path) => {
    const answer = await get(path);
    // an export has the members of the leaf
    const listed = answer.data.map(({ evaluationId: _id, ...row }: Answer['body']) => row);
    const { data } = await artifact({ resource });
    expect(data).toEqual(resource === 'jobs' ? listed : listed.toReversed());
    expect(data.length).toBeGreaterThan(1);
    const { data: ofRun } = await artifact({ resource, filters: { runId: filled.runId } });
    expect(ofRun).toEqual(data.filter((row: Answer['body']) => row.runId === filled.runId));
    const never = { startTime: '2100-01-01T00:00:00Z' };
    expect((await artifact({ resource, filters: never })).data).toEqual([]);
  });

  it('an export of replays has their results', async () => {
    const { data } = await artifact({ resource: 'replays', filters: { status: 'completed' } });
    expect(data.map((row: Answer['body']) => row.replayId)).toContain(filled.replayId);
    for (const row of data) expect(row).toEqual(await get(`/replay/${row.replayId}`));
  });

  it('an export of causal graphs has the newest graph of each run', async () => {
    const { data } = await artifact({ resource: 'causal_graphs' });
    expect(data.map((row: Answer['body']) => row.runId)).toEqual(
      expect.arrayContaining([filled.runId, filled.sealedRunId]),
    );
    expect(new Set(data.map((row: Answer['body']) => row.runId)).size).toBe(data.length);
    const sealed = data.find((row: Answer['body']) => row.runId === filled.sealedRunId);
    expect(sealed.rootHash).toBe((await get(`/graphs/${filled.sealedRunId}`)).rootHash);
  });

  it('an export of jobs filters by their status', async () => {
    const { data } = await artifact({ resource: 'jobs', filters: { status: 'cancelled' } });
    expect(data.map((row: Answer['body']) => row.jobId)).toEqual([filled.cancelledJobId]);
  });

  it('an export of jobs has those of before the clock was set back', async () => {
    const { data: listed } = await get('/jobs');
    const now = Date.now;
    vi.spyOn(Date, 'now').mockImplementation(() => now() - 86_400_000);
    try {
      expect((await artifact({ resource: 'jobs' })).data).toEqual(listed);
      const filters = { endTime: '2100-01-01T00:00:00Z' };
      expect((await artifact({ resource: 'jobs', filters })).data).toEqual(listed);
    } finally {
      vi.restoreAllMocks();
    }
  });

  it('an export is not listed among the jobs', async () => {
    const made = await create({ resource: 'jobs', format: 'csv' });
    const jobs = await get('/jobs?limit=100');
    expect(jobs.data.every((row: Answer['body']) => ['proof', 'replay'].includes(row.type))).toBe(true);
    expect(JSON.stringify(jobs)).not.toContain(made.exportId);
  });

  it('an export contains nothing that was recorded after it was created', async () => {
    const late = { body: event({ runId: 'late' }) };
    const [{ body }] = await Promise.all([
      tenant.call('POST', '/exports', { body: { resource: 'audit_events', format: 'json' } }),
      ...Array.from({ length: 40 }, () => tenant.call('POST', '/events', late)),
    ]);
    const { manifest } = await exportEnd(tenant.call, body.exportId);
    const { data } = (await tenant.call('GET', `/exports/${body.exportId}/download`)).body;
    const sequences = new Set(data.map((row: Answer['body']) => row.sequence));
    const { events } = await get('/events?runId=late');
    for (const { sequence } of events) expect(sequences.has(sequence)).toBe(sequence < manifest.treeSize);
  });

  it.each([
    [{ resource: 'causal_graphs', format: 'csv' }, '/format'],
    [{ resource: 'jobs', format: 'json', includeProof: true }, '/includeProof'],
    [{ resource: 'audit_events', format: 'csv', includeProof: true }, '/includeProof'],
    [{ resource: 'jobs', format: 'csv', filters: { eventType: 'x' } }, '/filters/eventType'],
    [{ resource: 'audit_events', format: 'csv', filters: { status: 'failed' } }, '/filters/status'],
    [{ resource: 'jobs', format: 'csv', filters: { status: 'x' } }, '/filters/status'],
    [{ resource: 'replays', format: 'csv', filters: { status: 'failed' } }, '/filters/status'],
    [{ resource: 'causal_graphs', format: 'json', filters: { endTime: '2026-01-01T00:00:00Z' } }, '/filters'],
    [
      {
        resource: 'jobs',
        format: 'csv',
        filters: { startTime: '2026-01-02T00:00:00Z', endTime: '2026-01-01T00:00:00Z' },
      },
      '/endTime',
    ],
    [{ resource: 'secrets', format: 'csv' }, '/resource'],
  ])('rejects an export of members that do not fit together: %j', async (body, pointer) => {
    const { status, body: problem } = await tenant.call('POST', '/exports', { body });
    expect([status, problem.errors[0].pointer]).toEqual([400, pointer]);
  });

  it('the log records that an export was created, completed, and downloaded once a day', async () => {
    const { exportId } = await create({ resource: 'jobs', format: 'csv' });
    for (let at = 0; at < 3; at++) await tenant.call('GET', `/exports/${exportId}/download`);
    const { events } = await get('/events?runId=gov.system&limit=1000');
    const told = events.filter(({ resource }: Answer['body']) => resource?.id === exportId);
    expect(told.map(({ eventType }: Answer['body']) => eventType)).toEqual([
      'export.created',
      'export.completed',
      'export.downloaded',
    ]);
    expect(told[0].metadata).toEqual({
      exportId,
      resource: 'jobs',
      format: 'csv',
      filters: {},
      includeProof: false,
      treeSize: expect.any(Number),
    });
  });
});

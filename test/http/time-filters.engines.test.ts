/**
 * Filters by time with digits beyond the millisecond (contract A3, E13): every operation that the table gives such a
 * filter, over the same record.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Operation } from '../../src/contract/operation.ts';
import { table, type OperationId } from '../../src/contract/table.ts';
import { exportEnd } from '../service/support/filled.ts';
import { policy, policyVersion } from '../support/rows.ts';
import { event, startPlane, type TestPlane } from '../support/serving.ts';
import { clockPast } from '../support/clock/later.ts';

interface Bounds {
  readonly startTime?: string;
  readonly endTime?: string;
}

let plane: TestPlane;
/** The time of the one record that each operation filters. */
const at: Partial<Record<OperationId, string>> = {};

beforeAll(async () => {
  plane = await startPlane();
  const sent = '2026-03-01T09:30:00.123456789Z';
  await plane.call('POST', '/events', { body: event({ timestamp: sent }) });
  await plane.call('POST', '/governance/policies', { body: { policyId: 'shell', ...policy } });
  const { body } = await plane.call('POST', '/governance/policy/evaluate', {
    body: { runId: 'run-1', policies: ['shell'], checkpoint: { context: {} } },
  });
  const { jobId } = (await plane.call('POST', '/replay', { body: { runId: 'run-1' } })).body;
  const { createdAt } = (await plane.call('GET', `/jobs/${jobId}`)).body;
  for (const id of ['listEvents', 'searchEvents', 'countEvents', 'listRuns', 'createExport'] as const)
    at[id] = sent;
  at.analyzePolicyHistory = body.evaluatedAt;
  at.listPolicyEvaluations = body.evaluatedAt;
  at.listJobs = createdAt;
});
afterAll(() => plane.end());

const queryOf = (bounds: Bounds): string => new URLSearchParams({ ...bounds }).toString();
const get = async (path: string, bounds: Bounds) => plane.call('GET', `${path}${queryOf(bounds)}`);

/** How many records each operation finds; a status where it refuses. */
const found: Partial<Record<OperationId, (bounds: Bounds) => Promise<number>>> = {
  listEvents: async (bounds) => {
    const { status, body } = await get('/events?runId=run-1&', bounds);
    return status === 200 ? body.events.length : status;
  },
  searchEvents: async (bounds) => {
    const { status, body } = await get('/events/search?runId=run-1&', bounds);
    return status === 200 ? body.events.length : status;
  },
  countEvents: async (bounds) => {
    const ofRun = await get('/events/count?runId=run-1&', bounds);
    const ofType = await get('/events/count?eventType=tool.call&', bounds);
    expect(ofType.body.count).toBe(ofRun.body.count);
    return ofRun.status === 200 ? ofRun.body.count : ofRun.status;
  },
  listRuns: async (bounds) => {
    const { status, body } = await get('/runs?eventType=tool.call&', bounds);
    return status === 200 ? body.data.length : status;
  },
  listJobs: async (bounds) => {
    const { status, body } = await get('/jobs?', bounds);
    return status === 200 ? body.data.length : status;
  },
  listPolicyEvaluations: async (bounds) => {
    const { status, body } = await get('/governance/policy/evaluations?', bounds);
    return status === 200 ? body.data.length : status;
  },
  analyzePolicyHistory: async (bounds) => {
    const { status, body } = await plane.call('POST', '/governance/policies/shell/impact/history', {
      body: { proposedVersion: policyVersion, ...bounds },
    });
    return status === 200 ? body.window.evaluations : status;
  },
  createExport: async (bounds) => {
    const filters = { eventType: 'tool.call', ...bounds };
    const { status, body } = await plane.call('POST', '/exports', {
      body: { resource: 'audit_events', format: 'json', filters },
    });
    if (status !== 202) return status;
    const { rowCount } = await exportEnd(plane.call, body.exportId);
    return rowCount;
  },
};

/** Whether a schema has a member of this name at any depth. */
const hasMember = (schema: unknown, name: string): boolean =>
  typeof schema === 'object' &&
  schema !== null &&
  (Object.hasOwn((schema as { properties?: object }).properties ?? {}, name) ||
    Object.values(schema).some((inner) => hasMember(inner, name)));

const filtering = (Object.keys(table) as OperationId[]).filter((id) => {
  const { query, body }: Operation = table[id];
  return [query, body].some((schema) => hasMember(schema, 'startTime') || hasMember(schema, 'since'));
});

/** The time at its millisecond, moved by some, with further digits. */
const moved = (text: string, ms: number, digits = ''): string =>
  new Date(Date.parse(text) + ms).toISOString().replace('Z', `${digits}Z`);

/** A question and a report take the times at which the log recorded, as tests of their own say. */
const ownTimes: ReadonlySet<OperationId> = new Set(['askLog', 'createExecution'] as const);
describe.each(filtering.filter((id) => !ownTimes.has(id)))('the time filter of %s', (id) => {
  const count = (bounds: Bounds): Promise<number> => found[id]?.(bounds) ?? Promise.reject(new Error(id));
  const time = (): string => at[id] ?? '';

  it('a time filter finds a record by its own time, as a bound on either side and on both', async () => {
    const [startTime, endTime] = [time(), time()];
    expect(await count({ startTime, endTime })).toBe(1);
    expect(await count({ startTime })).toBe(1);
    expect(await count({ endTime })).toBe(1);
  });

  it('a time filter compares whole milliseconds, whatever digits follow', async () => {
    for (const digits of ['', '0', '000001', '999999']) {
      expect(await count({ startTime: moved(time(), 0, digits) }), digits).toBe(1);
      expect(await count({ startTime: moved(time(), 1, digits) }), digits).toBe(0);
      expect(await count({ endTime: moved(time(), 0, digits) }), digits).toBe(1);
      expect(await count({ endTime: moved(time(), -1, digits) }), digits).toBe(0);
    }
  });

  it('a time filter whose start is later than its end is refused, by a nanosecond too', async () => {
    expect(await count({ startTime: moved(time(), 0, '000002'), endTime: moved(time(), 0, '000001') })).toBe(
      400,
    );
    expect(await count({ startTime: moved(time(), 0, '000001'), endTime: moved(time(), 0, '000001') })).toBe(
      1,
    );
  });
});

describe('the period of GET /log/answers', () => {
  const range = async (period: Readonly<Record<string, string>>) => {
    const query = new URLSearchParams({ runId: 'run-1', ...period }).toString();
    const { status, body } = await plane.call('GET', `/log/answers?${query}`);
    expect(status).toBe(200);
    return [body.question, body.range.to - body.range.from];
  };

  it('a period of GET /log/answers is exact for digits beyond the millisecond', async () => {
    const { events } = (await plane.call('GET', '/events?runId=run-1')).body;
    const own: string = events[0].serverTimestamp;
    const next = moved(own, 1);
    // an index leaf that covers the period
    await clockPast(Date.parse(next));
    expect(await range({ since: own })).toEqual([{ key: ['run', 'run-1'], since: own, until: null }, 1]);
    expect(await range({ since: moved(own, 0, '000001') })).toEqual([
      { key: ['run', 'run-1'], since: next, until: null },
      0,
    ]);
    expect(await range({ until: own })).toEqual([{ key: ['run', 'run-1'], since: null, until: own }, 0]);
    expect(await range({ until: moved(own, 0, '000001') })).toEqual([
      { key: ['run', 'run-1'], since: null, until: next },
      1,
    ]);
  });

  it('a period of GET /log/answers may begin at the end of the calendar', async () => {
    expect((await range({ since: '9999-12-31T23:59:59.999999999Z' }))[1]).toBe(0);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event, startPlane, type TestPlane } from '../../../support/serving.ts';
import { govHere } from '../../support/tool.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
  const decided = (runId: string, decision: string, minute: number) =>
    event({
      runId,
      eventType: 'tool.evaluated',
      timestamp: `2026-03-01T09:0${minute}:00Z`,
      metadata: { decision },
    });
  const events = [
    decided('one', 'deny', 1),
    decided('one', 'allow', 2),
    decided('two', 'deny', 3),
    event({ runId: 'one', timestamp: '2026-03-01T09:04:00Z' }),
  ];
  await plane.call('POST', '/events/batch', { body: { events } });
});
afterAll(() => plane.end());

async function list(...flags: string[]) {
  const env = { GOV_BASE_URL: plane.origin, GOV_API_KEY: plane.key };
  const { stdout, stderr, code } = await govHere(['events', 'list', ...flags, '-o', 'ndjson'], { env });
  const rows = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { runId: string; timestamp: string; metadata: { decision?: string } });
  return { rows, stderr, code };
}
const minutes = ({ rows }: Awaited<ReturnType<typeof list>>) => rows.map(({ timestamp }) => timestamp[15]);

describe('gov events list', () => {
  it('gov events list without a run finds denied calls of all runs, newest first', async () => {
    const found = await list('--decision', 'deny');
    expect(found.code).toBe(0);
    expect(minutes(found)).toEqual(['3', '1']);
    expect(minutes(await list('--decision', 'deny', '--since', '2026-03-01T09:02:00Z'))).toEqual(['3']);
    expect(minutes(await list('--decision', 'deny', '--run', 'one'))).toEqual(['1']);
    expect(minutes(await list('--tool', 'ledger', '--actor', 'billing-agent', '--limit', '2'))).toEqual([
      '4',
      '3',
    ]);
  });

  it('gov events list with a run lists its events in the order of recording', async () => {
    expect(minutes(await list('--run', 'one'))).toEqual(['1', '2', '4']);
    expect(minutes(await list('--run', 'one', '--order', 'desc'))).toEqual(['4', '2', '1']);
  });

  it('gov events list prints ids of events with -o id, with a run and without', async () => {
    const env = { GOV_BASE_URL: plane.origin, GOV_API_KEY: plane.key };
    const ids = async (...flags: string[]) =>
      (await govHere(['events', 'list', ...flags, '-o', 'id'], { env })).stdout.trim().split('\n');
    const ofRun = await ids('--run', 'two');
    expect(ofRun).toEqual([expect.stringMatching(/^evt_/)]);
    const all = await ids();
    expect(all).toContain(ofRun[0]);
    expect(new Set(all).size).toBeGreaterThanOrEqual(4);
    for (const id of all) expect(id).toMatch(/^evt_/);
  });

  it('gov events list refuses an order of a search, and a decision that does not exist', async () => {
    const ordered = await list('--decision', 'deny', '--order', 'asc');
    expect([ordered.code, ordered.stderr]).toEqual([2, expect.stringContaining('--run')]);
    const unknown = await list('--decision', 'maybe');
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('allow')]);
  });
});

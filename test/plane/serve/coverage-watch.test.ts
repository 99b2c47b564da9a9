/** Findings about recent runs in the health of a plane. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CoverageWatch } from '../../../plane/serve/coverage-watch.ts';
import { readPlaneFile } from '../../../src/host/data/config.ts';
import { openReader } from '../../../src/store/sqlite/store.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { tasks } from '../../../src/service/tasks.ts';
import type { TaskContext } from '../../../src/service/call/work.ts';
import { log, logs, nanos, post, span, traceId, traces } from '../../http/otlp/requests.ts';
import { governing } from '../../service/support/governed.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
let gov: ReturnType<typeof governing>;
beforeAll(async () => {
  plane = await startPlane();
  gov = governing(plane);
});
afterAll(() => plane.end());

const tool = (runId: string, n: number, ms: number): Promise<unknown> => {
  const values = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'pay',
    'gen_ai.tool.call.id': 'c1',
  };
  const members = { traceId: traceId(n), startTimeUnixNano: nanos(ms), endTimeUnixNano: nanos(ms) };
  return post(plane, 'traces', traces(span(n, { ...values, 'session.id': runId }, members)));
};

describe('the watch over recent runs', () => {
  it('reports ungoverned calls and missing records at the second look, until they are governed or old', async () => {
    const reader = openReader(`${plane.dataDir}/gov.db`);
    const context = { reader, host: {}, breathe: async () => {} } as unknown as TaskContext;
    let ahead = 0;
    let judged = 0;
    const watch = new CoverageWatch({
      projectId: readPlaneFile(join(plane.dataDir, 'plane.json')).projectId,
      store: reader,
      work: {
        run: async (name, input) => {
          judged += 1;
          return tasks[name](context, input);
        },
      },
      now: () => Date.now() + ahead,
      log: silentLog,
    });
    await tool('earlier', 1, Date.now());
    await watch.look();
    await watch.look();
    // nothing governs calls before there is a policy
    expect([watch.reasons(), judged]).toEqual([[], 0]);

    await gov.policy('no-shell', { 'tool.name': 'shell' }, 'deny');
    // a report that comes late, about a call from before the policy
    await tool('late', 3, Date.now() - 60_000);
    await tool('ungoverned', 4, Date.now());
    await tool('old', 2, Date.now() - 25 * 3600 * 1000);
    const numbered = { 'event.name': 'user_prompt', 'session.id': 'gap', 'event.sequence': 3 };
    await post(plane, 'logs', logs(log(numbered, { timeUnixNano: nanos(Date.now()) })));
    await watch.look();
    expect(watch.reasons()).toEqual([]);
    await watch.look();
    expect(watch.reasons().toSorted()).toEqual([
      'coverage: run gap has 3 missing log records; see gov runs coverage gap',
      'coverage: run ungoverned has 1 ungoverned call; see gov runs coverage ungoverned',
    ]);
    // runs that have not grown are not read again
    expect(judged).toBe(4);
    for (const runId of ['earlier', 'late']) {
      const { covered, calls } = await gov.must('GET', `/runs/${runId}/coverage`);
      expect(covered).toBe(false);
      expect(calls).toMatchObject([{ verdict: 'ungoverned', detail: 'no policy was in force' }]);
    }

    const { evaluationId } = await gov.tool('ungoverned', 'pay');
    await gov.ran('ungoverned', { evaluationId, toolCallId: 'c1' });
    await watch.look();
    expect(watch.reasons()).toHaveLength(1);
    // that nothing is in force now excuses nothing
    await tool('before-the-end', 5, Date.now());
    await plane.call('POST', '/governance/policies/no-shell/transition', {
      body: { targetStatus: 'disabled' },
    });
    await tool('after-the-end', 6, Date.now());
    await watch.look();
    await watch.look();
    expect(watch.reasons().toSorted()).toEqual([
      'coverage: run before-the-end has 1 ungoverned call; see gov runs coverage before-the-end',
      'coverage: run gap has 3 missing log records; see gov runs coverage gap',
    ]);
    ahead = 25 * 3600 * 1000;
    await watch.look();
    expect(watch.reasons()).toEqual([]);
    await reader.close();
  });

  it('leaves out a run that was only imported, and reports it once a live source has the calls too', async () => {
    const reader = openReader(`${plane.dataDir}/gov.db`);
    const context = { reader, host: {}, breathe: async () => {} } as unknown as TaskContext;
    const watch = new CoverageWatch({
      projectId: readPlaneFile(join(plane.dataDir, 'plane.json')).projectId,
      store: reader,
      work: { run: async (name, input) => tasks[name](context, input) },
      now: Date.now,
      log: silentLog,
    });
    await gov.policy('no-kill', { 'tool.name': 'kill' }, 'deny');
    const imported = ['tool.call', 'tool.result'].map((eventType) =>
      event({
        runId: 'imported',
        eventType,
        timestamp: new Date().toISOString(),
        resource: { name: 'pay', type: 'tool' },
        metadata: {
          importer: 'openai-chat',
          timestampSource: 'import',
          toolCallId: 'c1',
          outcome: 'success',
        },
      }),
    );
    await plane.call('POST', '/events/batch', { body: { events: imported } });
    const judged = await plane.call('GET', '/runs/imported/coverage');
    expect(judged.body).toMatchObject({ covered: false, counts: { ungoverned: 1 } });
    const look = async (): Promise<readonly string[]> => {
      await watch.look();
      await watch.look();
      return watch.reasons().filter((reason) => reason.includes('run imported'));
    };
    expect(await look()).toEqual([]);
    await tool('imported', 9, Date.now());
    expect(await look()).toEqual([
      'coverage: run imported has 1 ungoverned call; see gov runs coverage imported',
    ]);
    await reader.close();
  });

  it('gives one reason for many runs with findings, and each run with a denied call that ran its own', async () => {
    const runs = Array.from({ length: 5 }, (_, at) => ({
      runId: `r${at}`,
      events: 2,
      lastTimestampMs: Date.now(),
    }));
    const watch = new CoverageWatch({
      projectId: 'prj',
      store: {
        runs: () => Promise.resolve(runs.slice(0, shown)),
        policiesInForce: () => Promise.resolve({ policyIndex: 1 }),
      } as never,
      work: {
        run: (_name, input) => {
          const counts = 'runId' in input && input.runId === 'r4' ? { denied_but_ran: 1 } : { ungoverned: 2 };
          return Promise.resolve({
            counts,
            gaps: [],
            covered: false,
            sources: [{ source: 'otlp' }],
          } as never);
        },
      },
      now: Date.now,
      log: silentLog,
    });
    let shown = 3;
    await watch.look();
    await watch.look();
    expect(watch.reasons()).toHaveLength(3);
    shown = 5;
    await watch.look();
    await watch.look();
    expect(watch.reasons()).toEqual([
      'coverage: run r4 has 1 call that ran after its denial; see gov runs coverage r4',
      'coverage: 4 of the newest 20 runs have ungoverned calls or gaps: run r0 has 2 ungoverned calls; ' +
        'run r1 has 2 ungoverned calls; run r2 has 2 ungoverned calls; and 1 more; see gov runs coverage RUN, ' +
        'and all of them with gov report create integrity-completeness --since 1d --open',
    ]);
  });
});

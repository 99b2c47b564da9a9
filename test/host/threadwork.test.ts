import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/contract/limits.ts';
import { GovError } from '../../src/contract/problems.ts';
import type { ReaderSource } from '../../src/host/taskmessages.ts';
import { ThreadWork } from '../../src/host/threadwork.ts';
import type { Log } from '../../src/service/log.ts';
import { silentLog } from '../../src/service/log.ts';
import { readPlaneFile } from '../../src/host/config.ts';
import { event, startPlane, type TestPlane } from '../serving.ts';

let plane: TestPlane;
let projectId: string;
const works: ThreadWork[] = [];
const workOn = (source: ReaderSource, log: Log = silentLog): ThreadWork => {
  const made = new ThreadWork(source, log);
  works.push(made);
  return made;
};
const work = (log?: Log, file = 'gov.db'): ThreadWork =>
  workOn({ engine: 'sqlite', path: join(plane.dataDir, file) }, log);

beforeAll(async () => {
  plane = await startPlane();
  projectId = readPlaneFile(join(plane.dataDir, 'plane.json')).projectId;
  await plane.call('POST', '/events', { body: event() });
});
afterAll(async () => {
  for (const each of works) await each.close();
  await plane.end();
});

const of = () => ({ projectId, runId: 'run-1' });
const derive = (on: ThreadWork, stage: () => Promise<void>) =>
  on.run(
    'deriveGraph',
    { ...of(), graphId: 'g', hold: true, judge: false },
    { events: 1, host: { stage, hold: async () => {} } },
  );

describe('work in a thread', () => {
  it('answers, calls back, and brings refusals home as they were', async () => {
    const on = work();
    const staged: number[] = [];
    const { facts } = await derive(on, async () => void staged.push(1));
    expect([facts.events, staged.length]).toEqual([1, 2]);
    const refusal = await on
      .run(
        'declaration',
        { ...of(), graph: { nodes: [], edges: [{ source: 'x', target: 'y', type: 'z' }] }, salt: 's' },
        { events: 1 },
      )
      .catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(GovError);
    expect(refusal).toMatchObject({ code: 'VALIDATION_ERROR', errors: [{ pointer: '/edges/0/source' }, {}] });
  });

  it('fails a task whose caller fails it, and goes on', async () => {
    const on = work();
    const refused = async (): Promise<void> => {
      throw new GovError('STORAGE_FULL', 'no room');
    };
    await expect(derive(on, refused)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(await on.run('graphBody', of(), { events: 1 })).not.toBeNull();
  });

  it('that dies fails what ran in it, is logged, and is replaced', async () => {
    const logged: string[] = [];
    const on = work({ ...silentLog, error: (_fields, message) => logged.push(message) }, 'nothing.db');
    await expect(on.run('graphBody', of(), { events: 1 })).rejects.toMatchObject({ code: 'INTERNAL' });
    await expect(on.run('graphBody', of(), { events: 1 })).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(logged).toEqual(['the worker thread died', 'the worker thread died']);
  });

  it('is bounded: what waits beyond the limit is refused at once', async () => {
    const on = work();
    let release = (): void => {};
    const blocked = new Promise<void>((resolve) => (release = resolve));
    const heavy = (stage: () => Promise<void>) =>
      on.run(
        'deriveGraph',
        { ...of(), graphId: 'g', hold: false, judge: false },
        { events: limits.syncProofEvents + 1, host: { stage, hold: async () => {} } },
      );
    const running = heavy(() => blocked);
    const waiting = Array.from({ length: limits.tasksWaiting }, () => heavy(async () => {}));
    await expect(heavy(async () => {})).rejects.toMatchObject({ code: 'OVERLOADED' });
    // light tasks go past a heavy one that runs, but not past a full queue
    await expect(on.run('graphBody', of(), { events: 1 })).rejects.toMatchObject({ code: 'OVERLOADED' });
    release();
    await running;
    await Promise.all(waiting);
  });

  it('runs light tasks beside a heavy one', async () => {
    const on = work();
    let release = (): void => {};
    const blocked = new Promise<void>((resolve) => (release = resolve));
    const host = { stage: () => blocked, hold: async () => {} };
    const running = on.run(
      'deriveGraph',
      { ...of(), graphId: 'g', hold: false, judge: false },
      { events: limits.syncProofEvents + 1, host },
    );
    expect(await on.run('graphBody', of(), { events: 1 })).not.toBeNull();
    release();
    await running;
  });

  it('that is closed refuses what ran, what waits and what comes', async () => {
    const on = work();
    const running = derive(on, () => new Promise(() => {}));
    const outcome = expect(running).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    await on.close();
    await outcome;
    await expect(on.run('graphBody', of(), { events: 1 })).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
  });
});

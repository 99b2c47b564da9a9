import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { GovError } from '../../../src/contract/problems.ts';
import type { ReaderSource } from '../../../src/host/process/task-messages.ts';
import { ThreadWork } from '../../../src/host/process/thread-work.ts';
import type { Log } from '../../../src/service/call/log.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { readPlaneFile } from '../../../src/host/data/config.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

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
    { ...of(), graphId: 'g', treeSize: 9, proves: false },
    { events: 1, host: { stage } },
  );

const heavyEvents = limits.syncProofEvents + 1;

/** Runs a task that ends when what this answers is called. */
function block(on: ThreadWork, events: number): () => Promise<void> {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const host = { stage: () => released };
  const running = on.run(
    'deriveGraph',
    { ...of(), graphId: 'g', treeSize: 9, proves: false },
    { events, host },
  );
  return async () => {
    release();
    await running;
  };
}

describe('work in a thread', () => {
  it('work in a thread answers, calls back, and returns refusals unchanged', async () => {
    const on = work();
    const staged: number[] = [];
    const { facts } = await derive(on, async () => void staged.push(1));
    expect([facts.events, staged.length]).toEqual([1, 2]);
    const refusal = await on
      .run(
        'declaration',
        { ...of(), graph: '{"edges":[{"source":"x","target":"y","type":"z"}],"nodes":[]}', salt: 's' },
        { events: 1 },
      )
      .catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(GovError);
    expect(refusal).toMatchObject({ code: 'VALIDATION_ERROR', errors: [{ pointer: '/edges/0/source' }, {}] });
  });

  it('a task in a thread fails when its caller fails it, and the thread continues', async () => {
    const on = work();
    const refused = async (): Promise<void> => {
      throw new GovError('STORAGE_FULL', 'no room');
    };
    await expect(derive(on, refused)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(await on.run('graphBody', of(), { events: 1 })).not.toBeNull();
  });

  it('a thread that dies fails its tasks, is logged, and is replaced', async () => {
    const logged: string[] = [];
    const on = work({ ...silentLog, error: (_fields, message) => logged.push(message) }, 'nothing.db');
    await expect(on.run('graphBody', of(), { events: 1 })).rejects.toMatchObject({ code: 'INTERNAL' });
    await expect(on.run('graphBody', of(), { events: 1 })).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(logged).toEqual(['the worker thread died', 'the worker thread died']);
  });

  it('work in a thread is limited, and tasks beyond the limit are refused at once, heavy and light apart', async () => {
    const on = work();
    const release = block(on, heavyEvents);
    const wait = () => on.run('graphBody', of(), { events: heavyEvents });
    const waiting = Array.from({ length: limits.tasksWaiting }, wait);
    await expect(wait()).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect(await on.run('graphBody', of(), { events: 1 })).not.toBeNull();
    await release();
    await Promise.all(waiting);
  });

  it('a queue full of one project refuses its newest task in favour of another project', async () => {
    const on = work();
    const release = block(on, heavyEvents);
    const wait = (project: string) =>
      on.run('graphBody', { ...of(), projectId: project }, { events: heavyEvents });
    const waiting = Array.from({ length: limits.tasksWaiting }, () => wait(projectId));
    const newest = expect(waiting.pop()).rejects.toMatchObject({ code: 'OVERLOADED' });
    const other = wait('prj_other').catch((error: unknown) => error);
    await newest;
    await release();
    await Promise.all(waiting);
    expect(await other).not.toMatchObject({ code: 'OVERLOADED' });
  });

  it.each([
    ['heavy', heavyEvents, 1],
    ['light', 1, 8],
  ])('a thread takes %s tasks of projects in turn', async (_kind, events, atOnce) => {
    const on = work();
    const [release, ...releaseOthers] = Array.from({ length: atOnce }, () => block(on, events));
    const order: string[] = [];
    const names = ['ada 1', 'ada 2', 'ada 3', 'ada 4', 'bob 1', 'cy 1', 'bob 2'];
    const tasks = names.map(async (name) => {
      await on
        .run('graphBody', { projectId: `prj_${name.slice(0, -2)}`, runId: 'none' }, { events })
        .catch(() => {});
      order.push(name);
    });
    await release?.(); // now one at a time
    await Promise.all(tasks);
    expect(order).toEqual(['ada 1', 'bob 1', 'cy 1', 'ada 2', 'bob 2', 'ada 3', 'ada 4']);
    for (const each of releaseOthers) await each();
  });

  it('threads run light tasks beside a heavy one', async () => {
    const on = work();
    const release = block(on, heavyEvents);
    expect(await on.run('graphBody', of(), { events: 1 })).not.toBeNull();
    await release();
  });

  it('a stopped task ends at its next call or chunk with the reason, a waiting one at once, and others continue', async () => {
    const on = work();
    const why = new GovError('CONFLICT', 'cancelled');
    const running = new AbortController();
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => (answer = resolve));
    let asks = (): void => {};
    const asked = new Promise<void>((resolve) => (asks = resolve));
    const host = { stage: async () => (asks(), answered) };
    const input = { ...of(), graphId: 'g', treeSize: 9, proves: false };
    const options = { events: heavyEvents, host, signal: running.signal };
    const task = on.run('deriveGraph', input, options).catch((error: unknown) => error);
    await asked;
    const waiting = new AbortController();
    const wait = on.run('graphBody', of(), { events: heavyEvents, signal: waiting.signal });
    const next = on.run('graphBody', of(), { events: heavyEvents });
    waiting.abort(why);
    await expect(wait).rejects.toBe(why);
    running.abort(why);
    answer(); // the second call of the task is refused
    expect(await task).toMatchObject({ code: 'CONFLICT', message: 'cancelled' });
    expect(await next).not.toBeNull();
    await expect(on.run('graphBody', of(), { events: 1, signal: running.signal })).rejects.toBe(why);
  });

  it('a closed thread pool refuses running, waiting and new tasks', async () => {
    const on = work();
    const running = derive(on, () => new Promise(() => {}));
    const outcome = expect(running).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    await on.close();
    await outcome;
    await expect(on.run('graphBody', of(), { events: 1 })).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
  });

  it('a closed thread pool answers no task and starts no other thread', async () => {
    const on = work();
    let release = (): void => {};
    const answer = new Promise<void>((resolve) => (release = resolve));
    let asks = (): void => {};
    const asked = new Promise<void>((resolve) => (asks = resolve));
    const outcome = expect(
      derive(on, () => {
        asks();
        return answer;
      }),
    ).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    await asked;
    await on.close();
    await outcome;
    const started: unknown[] = [];
    const note = (message: unknown): void => void started.push(message);
    subscribe('worker_threads', note);
    release();
    await nextTurn();
    unsubscribe('worker_threads', note);
    expect(started).toEqual([]);
  });
});

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createClient,
  EventRecorder,
  GovSpoolError,
  type RecorderOptions,
  type RecorderProblem,
} from '../../src/client/index.ts';
import type { EventInput } from '../../src/contract/events.ts';
import { limits } from '../../src/contract/limits.ts';
import { projectRoot } from '../paths.ts';
import { Folder, push } from '../cli/push/harness.ts';
import { FakeService } from '../cli/push/service.ts';
import { startPlane } from '../support/serving.ts';
import { json, problem, startServer, type TestServer } from './server.ts';

interface Sent {
  readonly key: string;
  readonly events: readonly {
    /** `pid`: of a process of its own. */
    readonly metadata: { readonly n: number; readonly pid?: number };
    readonly clientEventId: string;
  }[];
}

let server: TestServer;
let folder: string;
/** Batches in the order of arrival, each key once, as the service stores them. */
let stored: Map<string, Sent['events']>;
let isAway: boolean;
const open: EventRecorder[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gov-recorder-'));
  stored = new Map();
  isAway = false;
  server = await startServer(({ headers, body }, response) => {
    if (isAway) return problem(response, 'OVERLOADED', 503);
    const { events } = JSON.parse(body) as Sent;
    stored.set(String(headers['idempotency-key']), events);
    const results = events.map(({ metadata }) =>
      metadata.n < 0
        ? { eventId: null, status: 'rejected', reason: 'invalid_field: n' }
        : { eventId: 'evt_x', status: 'accepted' },
    );
    json(response, 201, { results, accepted: results.length, rejected: 0 });
  });
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close({ timeoutMs: 0 })));
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const event = (n: number, runId = 'r'): EventInput => ({
  runId,
  eventType: 'step',
  actor: 'a',
  action: 'b',
  timestamp: '2026-01-01T00:00:00.000Z',
  metadata: { n },
});

async function recorder(options: RecorderOptions = {}): Promise<EventRecorder> {
  const client = createClient({ baseUrl: server.baseUrl, apiKey: 'k', env: {}, retries: 0 });
  const opened = await EventRecorder.open(client, { batchSize: 5, lingerMs: 60_000, ...options });
  open.push(opened);
  return opened;
}

const storedNumbers = (): number[] => [...stored.values()].flat().map(({ metadata }) => metadata.n);
const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, at) => from + at);

describe.each(['in memory', 'in a spool'])('a recorder with events %s', (where) => {
  const placed = (): RecorderOptions => (where === 'in memory' ? {} : { spool: join(folder, 'spool') });

  it('sends events in order, in batches, each with an id of its own', async () => {
    const events = await recorder(placed());
    for (const n of numbers(0, 12)) expect(events.record(event(n))).toBe(true);
    const counts = await events.flush();
    expect(storedNumbers()).toEqual(numbers(0, 12));
    expect([...stored.values()].map(({ length }) => length)).toEqual([5, 5, 2]);
    expect(new Set([...stored.values()].flat().map(({ clientEventId }) => clientEventId)).size).toBe(12);
    expect(counts).toMatchObject({ given: 12, sent: 12, rejected: 0, waiting: 0, resumed: 0 });
  });

  it('sends everything before it closes, where it may take any time', async () => {
    const events = await recorder(placed());
    for (const n of numbers(0, 60)) events.record(event(n));
    expect(await events.close({ timeoutMs: Infinity })).toMatchObject({ sent: 60, waiting: 0 });
  });

  it('sends a partial batch after the time that it may wait', async () => {
    const events = await recorder({ ...placed(), lingerMs: 1 });
    const arrived = new Promise<void>((resolve) => server.server.once('request', () => resolve()));
    events.record(event(1));
    await arrived;
    await events.flush();
    expect(storedNumbers()).toEqual([1]);
  });

  it('waits for a service that is away, and sends everything once when it is back', async () => {
    isAway = true;
    const problems: RecorderProblem[] = [];
    let told = (): void => {};
    const waits = new Promise<void>((resolve) => (told = resolve));
    const onProblem = (each: RecorderProblem): void => {
      problems.push(each);
      told();
    };
    const events = await recorder({ ...placed(), onProblem });
    for (const n of numbers(0, 12)) events.record(event(n));
    await waits;
    expect(problems[0]).toMatchObject({ kind: 'waiting', cause: { code: 'OVERLOADED' } });
    expect(events.counts).toMatchObject({ sent: 0, waiting: 12 });
    isAway = false;
    expect(await events.flush()).toMatchObject({ sent: 12, waiting: 0 });
    expect(storedNumbers()).toEqual(numbers(0, 12));
  });

  it('reports each event that the service rejects', async () => {
    const problems: RecorderProblem[] = [];
    const events = await recorder({ ...placed(), onProblem: (each) => problems.push(each) });
    for (const n of [1, -1, 2]) events.record(event(n));
    expect(await events.flush()).toMatchObject({ given: 3, sent: 2, rejected: 1, waiting: 0 });
    expect(problems).toMatchObject([
      { kind: 'rejected', event: { metadata: { n: -1 } }, reason: 'invalid_field: n' },
    ]);
  });

  it('never throws into the program, whatever it is given, and counts what it cannot keep', async () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    const trap = Object.defineProperty({}, 'runId', {
      get: () => {
        throw new Error('mine');
      },
    });
    const events = await recorder({
      ...placed(),
      onProblem: () => {
        throw new Error('of the program');
      },
    });
    for (const bad of [
      null,
      undefined,
      circle,
      trap,
      { ...event(1), metadata: { n: 1n } },
      { ...event(1), action: 'x'.repeat(400_000) },
      // fewer characters than the limit, and more bytes
      { ...event(1), action: '€'.repeat(limits.eventBytes / 2) },
    ]) {
      expect(events.record(bad as EventInput)).toBe(false);
    }
    expect(events.record(event(1))).toBe(true);
    const counts = await events.close();
    expect(counts.dropped).toMatchObject({ invalid: 7 });
    expect(events.record(event(2))).toBe(false);
    expect(events.counts.dropped).toMatchObject({ closed: 1 });
  });

  it('ends with its signal, and the program goes on', async () => {
    isAway = true;
    const stop = new AbortController();
    const events = await recorder({ ...placed(), signal: stop.signal });
    for (const n of numbers(0, 7)) events.record(event(n));
    stop.abort(new Error('stopped'));
    const counts = await events.close();
    expect(counts.waiting + counts.dropped.unsent).toBe(7);
    expect(counts.waiting).toBe(where === 'in memory' ? 0 : 7);
    await expect(recorder({ signal: stop.signal })).rejects.toThrow('stopped');
  });
});

it('a recorder keeps as many events in memory as its limit, drops the next, and records the loss in the run', async () => {
  isAway = true;
  const events = await recorder({ bufferedEvents: 10 });
  const taken = numbers(0, 12).map((n) => events.record(event(n, n === 10 ? 'one' : 'r')));
  expect(taken).toEqual(numbers(0, 12).map((n) => n < 10));
  expect(events.counts).toMatchObject({ given: 12, waiting: 10, dropped: { full: 2 } });
  isAway = false;
  await events.flush();
  const losses = [...stored.values()].flat().slice(10) as unknown as EventInput[];
  expect(losses).toMatchObject([
    { runId: 'one', eventType: 'recorder.dropped', metadata: { dropped: 1, reasons: ['full'] } },
    { runId: 'r', eventType: 'recorder.dropped', metadata: { dropped: 1, reasons: ['full'] } },
  ]);
  expect(events.counts).toMatchObject({ given: 14, sent: 12, waiting: 0, dropped: { full: 2 } });
});

it('a recorder drops events beyond the bytes of its spool, and none for want of memory', async () => {
  isAway = true;
  const spool = join(folder, 'spool');
  const events = await recorder({ spool, spoolBytes: 1000, bufferedEvents: 5 });
  for (const n of numbers(0, 30)) {
    events.record(event(n));
    await events.saved();
  }
  const { waiting, dropped } = events.counts;
  expect(dropped.full).toBe(0);
  expect(dropped.spoolFull).toBeGreaterThan(15);
  expect(waiting).toBeLessThan(8);
});

it('a second recorder in a spool that is in use is refused, and says why', async () => {
  const spool = join(folder, 'spool');
  await recorder({ spool });
  const failure: unknown = await recorder({ spool }).catch((cause: unknown) => cause);
  expect(failure).toBeInstanceOf(GovSpoolError);
  expect(failure).toMatchObject({ code: 'SPOOL_IN_USE' });
});

it('a recorder that closes while the service is away leaves its events in the spool for the next one', async () => {
  isAway = true;
  const spool = join(folder, 'spool');
  const first = await recorder({ spool });
  for (const n of numbers(0, 7)) first.record(event(n));
  expect(await first.close()).toMatchObject({ sent: 0, waiting: 7, dropped: { unsent: 0 } });
  isAway = false;
  const second = await recorder({ spool });
  second.record(event(7));
  expect(await second.close()).toMatchObject({ given: 1, resumed: 7, sent: 8, waiting: 0 });
  expect(storedNumbers()).toEqual(numbers(0, 8));
});

it('gov events push sends what a recorder left in its spool', async () => {
  isAway = true;
  const spool = join(folder, 'spool');
  const events = await recorder({ spool });
  for (const n of numbers(0, 7)) events.record(event(n));
  await events.close();
  const service = new FakeService();
  const own = new Folder();
  const { code, stderr } = await push({ spool }, { folder: own, service, target: server.baseUrl });
  own.remove();
  expect(code, stderr).toBe(0);
  expect(service.recorded).toHaveLength(7);
});

/** Starts a process that records to this server. */
const start = (spool: string, how: string) =>
  spawn(
    process.execPath,
    [join(projectRoot, 'test/client/support/recording.ts'), server.baseUrl, spool, how],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
const ended = (child: ReturnType<typeof start>): Promise<number | null> =>
  new Promise((resolve) => child.once('close', resolve));

it.each(['away', 'there'])(
  'an event that was in the spool is never lost, even if the process is killed while the service is %s',
  async (service) => {
    isAway = service === 'away';
    const spool = join(folder, 'spool');
    const saved = new Map<number | undefined, number>();
    for (let round = 0; round < 3; round += 1) {
      const child = start(spool, 'saved');
      const last = numbers(5, 40)[Math.floor(Math.random() * 35)]!;
      let said = '';
      child.stdout!.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        if (said.includes(`saved ${last}\n`)) child.kill('SIGKILL');
      });
      await ended(child);
      saved.set(child.pid, said.split('\n').length - 1);
    }
    isAway = false;
    const next = await recorder({ spool });
    await next.flush();
    await next.close();
    const all = [...stored.values()].flat();
    // an event may be in two requests, with one id: the service stores it once
    const byId = new Map(all.map((each) => [each.clientEventId, each.metadata]));
    for (const [pid, lines] of saved) {
      const own = [...byId.values()].filter((each) => each.pid === pid).map(({ n }) => n);
      expect(own.length).toBeGreaterThanOrEqual(lines);
      // none is missing before the last one, and none is there under two ids
      expect(own.toSorted((one, other) => one - other)).toEqual(numbers(0, own.length));
    }
  },
);

it.each(['end', 'exit'])(
  'a process that comes to its %s leaves every event in the spool or at the service',
  async (how) => {
    isAway = true;
    const spool = join(folder, 'spool');
    expect(await ended(start(spool, how))).toBe(0);
    isAway = false;
    const next = await recorder({ spool });
    expect(await next.flush()).toMatchObject({ resumed: 12, sent: 12 });
    expect(storedNumbers()).toEqual(numbers(0, 12));
  },
);

it('a process without a spool sends its events before it ends by itself', async () => {
  expect(await ended(start('', 'end'))).toBe(0);
  expect(storedNumbers()).toEqual(numbers(0, 12));
});

it('a recorder records at a real plane, and repeats nothing that it sends twice', async () => {
  const plane = await startPlane();
  const client = createClient({ baseUrl: plane.baseUrl, apiKey: plane.key, env: {} });
  const events = await EventRecorder.open(client, { spool: join(folder, 'spool') });
  for (const n of numbers(0, 250))
    events.record({ ...event(n), clientEventId: `c-${n % 200}`, metadata: { n: n % 200 } });
  const counts = await events.close();
  expect(counts).toMatchObject({ given: 250, sent: 250, waiting: 0 });
  const { body } = await client.countEvents({ query: { runId: 'r' } });
  expect(body).toMatchObject({ count: 200 });
  client.close();
  await plane.end();
});

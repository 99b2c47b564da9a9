/**
 * Benchmark of reads over many runs, at two sizes of one project, and of a neighbour's `POST /events` beside them.
 * Runs of four events start evenly over 30 days; one run lasts all of them. The store is filled through its append
 * path, then served. The floor of a read is `GET /health/live` of the same plane, the floor of a neighbour is a
 * neighbour beside four clients of that route. `node bench/neighbours/reads.ts [runs …]`; 600,000 runs take some minutes.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { saltPool } from '../../src/core/events/disclosure.ts';
import { draftEvent, type EventDraft } from '../../src/core/events/record.ts';
import { openStore } from '../../src/store/sqlite/store.ts';
import { discard, median, percentile, report, startPlane, type RunningPlane } from '../support/harness.ts';

const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [60_000, 600_000];
const eventsOfRun = 4;
const days = 30;
const dayMs = 86_400_000;
const endMs = Math.floor(Date.now() / dayMs) * dayMs;
const startMs = endMs - days * dayMs;
const salt = saltPool(randomBytes);

function draft(no: number, runs: number): EventDraft {
  const [run, at] = [Math.floor(no / eventsOfRun), no % eventsOfRun];
  const ms = startMs + Math.floor((run / runs) * days * dayMs) + at * 7001;
  const event = {
    runId: no % 1001 === 500 ? 'long' : `run-${run}`,
    eventType: run % 20_011 === 7 ? 'approval.asked' : at % 2 === 0 ? 'tool.call' : 'model.invoked',
    actor: { name: 'agent', role: 'agent' },
    action: 'do',
    timestamp: new Date(ms).toISOString(),
    ...(run % 20_011 === 9 ? { aiSystemId: 'rare' } : { aiSystemId: `system-${run % 5}` }),
  };
  const drafted = draftEvent(event, endMs, salt);
  if ('code' in drafted) throw new Error(drafted.detail);
  return drafted;
}

/** Fills the log of a stopped plane. Returns events a second. */
async function fill(dataDir: string, runs: number): Promise<number> {
  const { projectId } = JSON.parse(readFileSync(join(dataDir, 'plane.json'), 'utf8')) as {
    projectId: string;
  };
  const store = openStore({ dataDir, clock: Date, randomBytes, thread: true });
  const total = runs * eventsOfRun;
  const start = performance.now();
  let writing: Promise<unknown> = Promise.resolve();
  for (let from = 0; from < total; from += 2000) {
    const leaves = Array.from({ length: Math.min(2000, total - from) }, (_, at) => draft(from + at, runs));
    await writing; // drafts of the next batch are created while this one is stored
    writing = store.append({ projectId, leaves, meter: { op: 'audit_event', units: 'accepted' } });
  }
  await writing;
  const rate = (total / (performance.now() - start)) * 1000;
  await store.close();
  return rate;
}

type Call = () => Promise<number>;

/** Calls of one connection each; a call returns its milliseconds. */
function caller({ baseUrl, apiKey }: RunningPlane, method: string, path: string, body?: unknown): Call {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const text = body === undefined ? '' : JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${apiKey}`,
    ...(text === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
  };
  return () =>
    new Promise((resolve, reject) => {
      const start = performance.now();
      const made = request(baseUrl + path, { method, agent, headers }, (response) => {
        response.resume();
        response.once('end', () => {
          const ok = (response.statusCode ?? 500) < 300 || response.statusCode === 503;
          if (ok) resolve(performance.now() - start);
          else reject(new Error(`${method} ${path} answered ${response.statusCode}`));
        });
      });
      made.once('error', reject);
      made.end(text);
    });
}

const event = {
  runId: 'neighbour',
  eventType: 'tool.call',
  actor: { name: 'agent', role: 'agent' },
  action: 'do',
  timestamp: new Date(endMs).toISOString(),
};

async function times(call: Call, atMost: number): Promise<number[]> {
  await call();
  const found: number[] = [];
  const start = performance.now();
  while (found.length < atMost && performance.now() - start < 2000) found.push(await call());
  return found;
}

/** The p50 and p99 of a neighbour's POST beside four clients of a path; null: of none. */
async function neighbour(plane: RunningPlane, path: string | null): Promise<{ p50: number; p99: number }> {
  const still = { isMeasuring: true };
  const loop = async (call: Call): Promise<void> => {
    while (still.isMeasuring) await call();
  };
  const others = path === null ? [] : [1, 2, 3, 4].map(() => loop(caller(plane, 'GET', path)));
  const found = await times(caller(plane, 'POST', '/events', event), 200);
  still.isMeasuring = false;
  await Promise.all(others);
  return { p50: median(found), p99: percentile(found, 0.99) };
}

const iso = (ms: number): string => encodeURIComponent(new Date(ms).toISOString());
const window = (from: number, to: number): string =>
  `startTime=${iso(startMs + from * dayMs + 1_234_567)}&endTime=${iso(startMs + to * dayMs + 7_654_321)}`;

const reads: Readonly<Record<string, string>> = {
  'count, window of 10 days': `/events/count?${window(3, 13)}`,
  'count, window of 2 hours': `/events/count?${window(20, 20)}`,
  'count by type, window of 10 days': `/events/count?eventType=tool.call&${window(3, 13)}`,
  'count of the long run, window of 10 days': `/events/count?runId=long&${window(3, 13)}`,
  'runs of a rare system': '/runs?limit=100&aiSystemId=rare',
  'runs of no system': '/runs?limit=100&aiSystemId=none',
  'runs of a rare type': '/runs?limit=100&eventType=approval.asked',
  'runs of a rare type and system': '/runs?limit=100&eventType=approval.asked&aiSystemId=system-3',
  'runs of an old window of 2 hours': `/runs?limit=100&${window(1, 1)}`,
  'runs after the newest': `/runs?limit=100&startTime=${iso(endMs + 1e9)}`,
  'runs of an old window, of a rare type': `/runs?limit=100&eventType=approval.asked&${window(1, 1)}`,
};

const before = new Map<string, number>();
for (const runs of sizes) {
  const initial = await startPlane();
  await initial.stop();
  const rate = await fill(initial.dataDir, runs);
  const plane = await startPlane({ dataDir: initial.dataDir });
  const floor = median(await times(caller(plane, 'GET', '/health/live'), 300));
  const rows = [{ ratio: '1.0 ×', figure: `${floor.toFixed(2)} ms`, what: 'floor: GET /health/live' }];
  for (const [what, path] of Object.entries(reads)) {
    const found = median(await times(caller(plane, 'GET', path), 100));
    const first = before.get(what);
    const grown = first === undefined ? '' : `; ${(found / first).toFixed(1)} × of ${sizes[0]} runs`;
    if (first === undefined) before.set(what, found);
    rows.push({
      ratio: `${(found / floor).toFixed(1)} ×`,
      figure: `${found.toFixed(2)} ms`,
      what: what + grown,
    });
  }
  report(`reads over ${runs} runs, filled with ${rate.toFixed(0)} events a second`, rows);
  const idle = await neighbour(plane, null);
  const beside: typeof rows = [
    { ratio: '1.0 ×', figure: `${idle.p50.toFixed(1)} ms`, what: `alone; p99 ${idle.p99.toFixed(1)} ms` },
  ];
  for (const [what, path] of [['floor: GET /health/live', '/health/live'], ...Object.entries(reads)]) {
    const { p50, p99 } = await neighbour(plane, path ?? null);
    beside.push({
      ratio: `${(p50 / idle.p50).toFixed(1)} ×`,
      figure: `${p50.toFixed(1)} ms`,
      what: `beside four clients: ${what}; p99 ${p99.toFixed(1)} ms`,
    });
  }
  report(`p50 of a neighbour's POST /events over ${runs} runs`, beside);
  await plane.stop();
  discard(join(plane.dataDir, '..'));
}

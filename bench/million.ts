/**
 * Benchmark of the proof of one run of a million events, and of recording meanwhile. A plane has the run and
 * gets a slow steady stream of single events. Compares their p99 when idle and during the proof. `node
 * bench/million.ts [events]`
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '../src/client/create.ts';
import { discard, report, residentMb, scratch, startPlane } from './support/harness.ts';
import type { LoadResult } from './support/load.ts';
import { load, recordedEvents } from './support/recorded.ts';

const events = Number(process.argv[2] ?? 1_000_000);
const folder = scratch();
const runId = 'million';
const plane = await startPlane();
const pid = plane.process.pid ?? 0;
const port = Number(new URL(plane.baseUrl).port);
const client = createClient({ baseUrl: plane.baseUrl, apiKey: plane.apiKey, timeoutMs: 600_000 });

const sample = recordedEvents('million').map((event) => ({ ...event, runId }));
const bodies = join(folder, 'bodies.json');
const batches = Array.from({ length: 16 }, (_, at) =>
  JSON.stringify({ events: sample.slice(at * 500, at * 500 + 500) }),
);
writeFileSync(bodies, JSON.stringify(batches));
const filled = await load({
  port,
  path: '/api/v1/events/batch',
  key: plane.apiKey,
  connections: 4,
  seconds: 600,
  requests: events / 500,
  bodies,
});
console.log(
  `recorded ${events} events in ${filled.seconds.toFixed(0)} s, ${residentMb(pid).toFixed(0)} MB resident`,
);

const singles = join(folder, 'singles.json');
writeFileSync(singles, JSON.stringify(recordedEvents('beside').map((event) => JSON.stringify(event))));
/** A steady stream: 8 connections, one event every 20 ms each. */
const stream = (seconds: number): Promise<LoadResult> =>
  load({
    port,
    path: '/api/v1/events',
    key: plane.apiKey,
    connections: 8,
    pauseMs: 20,
    seconds,
    bodies: singles,
  });

interface Proved {
  readonly seconds: number;
  readonly peakMb: number;
}
/** Proves the run as a job. Polls for the end and for the largest resident set. */
async function prove(layers: string[]): Promise<Proved> {
  const start = performance.now();
  const accepted = await client.createProof({ body: { runId, async: true, composed: { layers } } });
  if (!('jobId' in accepted.body)) throw new Error('expected a job');
  let peakMb = 0;
  for (;;) {
    const { body } = await client.getJob({ params: { jobId: accepted.body.jobId } });
    peakMb = Math.max(peakMb, residentMb(pid));
    if (body.status === 'failed') throw new Error(JSON.stringify((await client.listJobs({})).body.data[0]));
    if (body.status === 'completed') return { seconds: (performance.now() - start) / 1000, peakMb };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

await stream(5);
const idle = await stream(30);
const integrity = await prove(['event_integrity']);
const beside = stream(60);
const whole = await prove(['event_integrity', 'causal_consistency', 'policy_compliance']);
const busy = await beside;
client.close();
await plane.stop();

report(`proof of a run of ${events} events`, [
  { ratio: '', figure: `${integrity.seconds.toFixed(1)} s`, what: 'event_integrity (reach: 15 s)' },
  {
    ratio: '',
    figure: `${whole.seconds.toFixed(1)} s`,
    what: 'the three default layers, while events arrive (reach: 45 s)',
  },
  {
    ratio: '',
    figure: `${Math.max(integrity.peakMb, whole.peakMb).toFixed(0)} MB`,
    what: 'largest resident set of the plane (reach: 400 MB)',
  },
  {
    ratio: '',
    figure: `${idle.p99.toFixed(1)} ms`,
    what: `p99 of single events, idle (p50 ${idle.p50.toFixed(1)} ms)`,
  },
  {
    ratio: `${(busy.p99 / idle.p99).toFixed(1)} x`,
    figure: `${busy.p99.toFixed(1)} ms`,
    what: `p99 over 60 s that hold the proof (reach: 3 x; p50 ${busy.p50.toFixed(1)} ms)`,
  },
]);
discard(folder);
discard(join(plane.dataDir, '..'));

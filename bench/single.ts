/**
 * Benchmark of single `POST /events` at 64 connections. The floor is a Fastify route that only parses and
 * answers. Both servers are processes of their own, and one client loads them in alternation. `node
 * bench/single.ts`
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  cpuSeconds,
  discard,
  freePort,
  median,
  percentile,
  report,
  scratch,
  share,
  startPlane,
} from './support/harness.ts';
import type { LoadResult } from './support/load.ts';
import { load, recordedEvents } from './support/recorded.ts';

const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 4);
const folder = scratch();
const bodies = join(folder, 'bodies.json');
writeFileSync(bodies, JSON.stringify(recordedEvents('single').map((event) => JSON.stringify(event))));

const plane = await startPlane();
const barePort = await freePort();
const bare = spawn(
  process.execPath,
  [fileURLToPath(new URL('./support/bare.ts', import.meta.url)), String(barePort)],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
await new Promise((resolve) => bare.stdout.once('data', resolve));

const shared = { key: plane.apiKey, connections: 64, seconds, bodies, path: '/api/v1/events' };
const planePort = Number(new URL(plane.baseUrl).port);
const floor: LoadResult[] = [];
const ours: (LoadResult & { serverCpu: number })[] = [];
for (let round = 0; round <= rounds; round += 1) {
  const one = await load({ ...shared, port: barePort });
  const before = cpuSeconds(plane.process.pid ?? 0);
  const other = await load({ ...shared, port: planePort });
  if (round === 0) continue; // warm-up
  floor.push(one);
  ours.push({ ...other, serverCpu: cpuSeconds(plane.process.pid ?? 0) - before });
  if (other.failed > 0) throw new Error(`${other.failed} requests failed`);
}
await plane.stop();
bare.kill();

const rate = (results: readonly LoadResult[]) =>
  median(results.map((result) => result.requests / result.seconds));
const latency = (results: readonly LoadResult[], key: 'p50' | 'p99' | 'p999') =>
  median(results.map((result) => result[key])).toFixed(1);
const latencies = (results: readonly LoadResult[]) =>
  `p50 ${latency(results, 'p50')} ms, p99 ${latency(results, 'p99')} ms, p99.9 ${latency(results, 'p999')} ms`;
const perRequest = (cpu: number, result: LoadResult) => (1e6 * cpu) / result.requests;
report(`single POST /events, 64 connections, median of ${rounds}`, [
  {
    ratio: '',
    figure: `${rate(floor).toFixed(0)} /s`,
    what: `floor: Fastify, parse and answer; ${latencies(floor)}`,
  },
  {
    ratio: share(rate(ours), rate(floor)),
    figure: `${rate(ours).toFixed(0)} /s`,
    what: `gov, durable; ${latencies(ours)} (reach: 35 %, p99 30 ms)`,
  },
  {
    ratio: '',
    figure: `${median(ours.map((result) => perRequest(result.serverCpu, result))).toFixed(0)} µs`,
    what: `server CPU per request; client ${median(ours.map((result) => perRequest(result.cpuSeconds, result))).toFixed(0)} µs; worst p99 ${percentile(
      ours.map((result) => result.p99),
      1,
    ).toFixed(1)} ms`,
  },
]);
discard(folder);
discard(join(plane.dataDir, '..'));

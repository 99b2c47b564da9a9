/**
 * Benchmark of a bundle of 100,000 disclosed real events: memory of the plane and the turns of its event loop while it is
 * made and sent, then time and memory of `gov proofs verify` from exec to exit. The floor of the verification is SHA-256
 * of the same bytes in a process that reads them. `node bench/large/bundles.ts [events] [rounds]`
 */
import { createWriteStream, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createClient } from '../../src/client/create.ts';
import { openBundle } from '../../src/client/open.ts';
import {
  cpuSeconds,
  discard,
  milliseconds,
  report,
  residentMb,
  scratch,
  startPlane,
} from '../support/harness.ts';
import { recordedEvents } from '../support/recorded.ts';
import { verifyingFile } from '../support/verifying.ts';

const wanted = Number(process.argv[2] ?? 100_000);
const rounds = Number(process.argv[3] ?? 3);
const folder = scratch();
const turns = join(folder, 'turns.json');
process.env['GOV_BENCH_TURNS'] = turns;
const preload = new URL('../support/loop-turns.ts', import.meta.url).href;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const first = await startPlane();
const runId = 'large';
const client = createClient({ baseUrl: first.baseUrl, apiKey: first.apiKey, timeoutMs: 600_000 });
for (let round = 0, left = wanted; left > 0; round += 1) {
  const events = recordedEvents(`b${round}`, { keyed: true })
    .slice(0, left)
    .map((event) => ({ ...event, runId }));
  left -= events.length;
  for (let from = 0; from < events.length; from += 500) {
    await client.createEvents({ body: { events: events.slice(from, from + 500) } });
  }
}
const { body: job } = await client.createProof({ body: { runId, async: true } });
if (!('jobId' in job)) throw new Error('expected a job, got a proof');
let proofId = '';
while (proofId === '') {
  const { body } = await client.getJob({ params: { jobId: job.jobId } });
  if (body.status === 'failed') throw new Error('the proof failed');
  if (body.status === 'completed') ({ proofId } = body.result as unknown as { proofId: string });
  await pause(200);
}
client.close();
await first.stop();

// a new process, whose memory has only what the bundle needs
const plane = await startPlane({ dataDir: first.dataDir, node: ['--import', preload] });
const pid = plane.process.pid ?? 0;
const again = createClient({ baseUrl: plane.baseUrl, apiKey: plane.apiKey, timeoutMs: 600_000 });
const bundleOf = (events: 'none' | 'disclosed') =>
  openBundle(again, { params: { proofId }, query: { events } });
// starts the thread, and gives the log its index leaf
for await (const _chunk of (await bundleOf('none')).chunks);
await pause(6000);
const idleMb = residentMb(pid);
plane.process.kill('SIGUSR2');
await pause(200);
const file = join(folder, 'large.govproof.json');
let planeMb = 0;
const sample = setInterval(() => (planeMb = Math.max(planeMb, residentMb(pid))), 20);
const cpuBefore = cpuSeconds(pid);
let planned = 0;
const madeMs = await milliseconds(async () => {
  const start = performance.now();
  const { chunks } = await bundleOf('disclosed');
  planned = performance.now() - start;
  await pipeline(chunks, createWriteStream(file));
});
const cpu = cpuSeconds(pid) - cpuBefore;
clearInterval(sample);
plane.process.kill('SIGUSR2');
await pause(1000);
const longest = Math.max(...(JSON.parse(readFileSync(turns, 'utf8')) as number[]));
again.close();
await plane.stop();

const env = { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_CACHE_HOME: join(folder, 'cache') };
const trust = join(plane.dataDir, 'trust');
const { floorMs, verifyMs, peakMb } = await verifyingFile({ file, trust, env, rounds });
const megabytes = (statSync(file).size / 1e6).toFixed(0);
report(`A bundle of ${wanted} disclosed events, ${megabytes} MB: the plane`, [
  { ratio: '', figure: `${idleMb.toFixed(0)} MB`, what: 'floor: resident memory before' },
  {
    ratio: `+${(planeMb - idleMb).toFixed(0)} MB`,
    figure: `${planeMb.toFixed(0)} MB`,
    what: 'resident memory at most (reach: +100 MB)',
  },
  {
    ratio: '',
    figure: `${longest.toFixed(1)} ms`,
    what: 'longest turn of the event loop, CPU (reach: 50 ms)',
  },
  { ratio: '', figure: `${(planned / 1000).toFixed(1)} s`, what: 'to the first byte' },
  { ratio: '', figure: `${(madeMs / 1000).toFixed(1)} s`, what: `to the last byte; ${cpu.toFixed(1)} s CPU` },
]);
report(`gov proofs verify, whole process, median of ${rounds}`, [
  { ratio: '', figure: `${(floorMs / 1000).toFixed(2)} s`, what: 'floor: read the file, SHA-256' },
  {
    ratio: `${(verifyMs / floorMs).toFixed(1)}×`,
    figure: `${(verifyMs / 1000).toFixed(2)} s`,
    what: 'verified',
  },
  { ratio: '', figure: `${peakMb.toFixed(0)} MB`, what: 'resident memory at most (reach: 300 MB)' },
]);
discard(folder);
discard(join(plane.dataDir, '..'));

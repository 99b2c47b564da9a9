/**
 * Benchmark of a neighbour beside two writers of 16 MB batches: `GET /health/live` and `POST /events`, p50 and p99.
 * The floor is the neighbour alone. Also the CPU of single turns of the plane's event loop, which other load on the
 * machine does not change. Shapes: long texts, many small values, and texts with an `Idempotency-Key`, replays of
 * graphs of 20,000 nodes.
 * `node bench/neighbours/large-bodies.ts [seconds] [shapes]`
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawn } from 'node:child_process';
import { discard, percentile, report, scratch, startPlane } from '../support/harness.ts';

const seconds = Number(process.argv[2] ?? 6);
const shapes = ['none', ...(process.argv[3]?.split(',') ?? ['texts', 'values', 'keyed', 'graphs'])];
const turnsFile = join(scratch(), 'turns.json');
process.env['GOV_BENCH_TURNS'] = turnsFile;
const plane = await startPlane({
  node: ['--import', fileURLToPath(new URL('../support/loop-turns.ts', import.meta.url))],
});
const authorization = `Bearer ${plane.apiKey}`;
const writer = fileURLToPath(new URL('../support/large-writer.ts', import.meta.url));

const event = JSON.stringify({
  runId: 'neighbour',
  eventType: 'tool.call',
  actor: { name: 'agent', role: 'agent' },
  action: 'do',
  timestamp: new Date().toISOString(),
});

function caller(method: string, path: string, body = ''): () => Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const typed = body === '' ? {} : { 'content-type': 'application/json', 'content-length': body.length };
  return () =>
    new Promise((resolve, reject) => {
      const start = performance.now();
      const made = request(plane.baseUrl + path, { method, agent, headers: { authorization, ...typed } });
      made.once('response', (response) => {
        response.resume();
        response.once('end', () => resolve(performance.now() - start));
      });
      made.once('error', reject);
      made.end(body);
    });
}

/** Latencies of a call every 5 ms or slower. */
async function neighbour(call: () => Promise<number>): Promise<number[]> {
  await call();
  const found: number[] = [];
  const start = performance.now();
  while (performance.now() - start < seconds * 1000) {
    found.push(await call());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return found;
}

/** Two writers in a process of their own. */
function writers(shape: string): { stop: () => Promise<string> } {
  const child = spawn(process.execPath, [writer, plane.baseUrl, plane.apiKey, shape], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const gone = new Promise((resolve) => child.once('exit', resolve));
  return {
    stop: async () => {
      child.stdin.end();
      await gone;
      return text.trim();
    },
  };
}

/** The turns of the event loop since the last call. */
async function turns(): Promise<string> {
  writeFileSync(turnsFile, '');
  plane.process.kill('SIGUSR2');
  while (readFileSync(turnsFile, 'utf8') === '') await new Promise((resolve) => setTimeout(resolve, 20));
  await new Promise((resolve) => setTimeout(resolve, 50));
  const found = JSON.parse(readFileSync(turnsFile, 'utf8')) as number[];
  const over = (ms: number): number => found.filter((turn) => turn > ms).length;
  const longest = Math.max(...found).toFixed(0);
  return `turns of the loop: longest ${longest} ms CPU; ${over(10)} over 10 ms, ${over(30)} over 30 ms`;
}

const calls = { health: caller('GET', '/health/live'), post: caller('POST', '/events', event) };
const rows: { ratio: string; figure: string; what: string }[] = [];
const alone = new Map<string, number>();
for (const shape of shapes) {
  await turns();
  const busy = shape === 'none' ? null : writers(shape);
  if (busy !== null) await new Promise((resolve) => setTimeout(resolve, 2000));
  for (const [name, call] of Object.entries(calls)) {
    const found = await neighbour(call);
    const [p50, p99] = [percentile(found, 0.5), percentile(found, 0.99)];
    if (busy === null) alone.set(name, p99);
    const what = `${name} ${busy === null ? 'alone' : `beside two writers of ${shape}`}; p50 ${p50.toFixed(1)} ms`;
    rows.push({
      ratio: `${(p99 / (alone.get(name) ?? NaN)).toFixed(1)} ×`,
      figure: `${p99.toFixed(1)} ms`,
      what,
    });
  }
  const turned = await turns();
  const wrote = busy === null ? '' : `; ${await busy.stop()}`;
  rows.push({ ratio: '', figure: '', what: turned + wrote });
}
report('p99 of a neighbour beside large batches (reach: health 5 ×)', rows);
await plane.stop();
for (const folder of [join(plane.dataDir, '..'), join(turnsFile, '..')]) discard(folder);

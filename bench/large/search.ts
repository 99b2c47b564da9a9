/**
 * Benchmark of `gov events list --decision deny --since 1h` in a log of 2.4 million events, from exec to exit, and of the
 * searches beside it. The floor is `gov version`: the start of the tool. Time rises over a day, and each tenth event has a
 * time within the year before: agents report late, and recordings are imported.
 * `node bench/large/search.ts [events] [folder to keep]`
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import {
  discard,
  entry,
  median,
  milliseconds,
  report,
  scratch,
  startPlane,
  type RunningPlane,
} from '../support/harness.ts';

const events = Number(process.argv[2] ?? 2_400_000);
const folder = process.argv[3] ?? scratch();
const dataDir = join(folder, 'plane');
const rounds = 11;
const hourMs = 3_600_000;
const batch = 500;
const tools = ['payments.refund', 'search', 'mail.send', 'ledger.read'] as const;

/** One batch: of 100 decisions, one denies. */
function bodyOf(first: number, now: number): Buffer {
  const list = Array.from({ length: batch }, (_, at) => {
    const n = first + at;
    const ms =
      n % 10 === 9 ? now - ((n * 7919) % 31_536_000) * 1000 : now - ((events - n) / events) * 24 * hourMs;
    const tool = tools[n % tools.length] ?? '';
    return {
      runId: `run-${Math.floor(n / 40)}`,
      eventType: 'tool.call',
      actor: { name: `agent-${n % 7}`, role: 'agent' },
      resource: { name: tool, type: 'tool' },
      action: 'execute',
      timestamp: new Date(ms).toISOString(),
      metadata: { toolName: tool, decision: n % 100 === 3 ? 'deny' : 'allow' },
    };
  });
  return Buffer.from(JSON.stringify({ events: list }));
}

/** Four connections, each with the next batch as soon as it has an answer. */
async function fill({ baseUrl, apiKey }: RunningPlane): Promise<void> {
  const now = Date.now();
  let next = 0;
  const lane = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (next < events) {
      const body = bodyOf(next, now);
      next += batch;
      const status = await new Promise<number>((resolve, reject) => {
        const headers = {
          authorization: `Bearer ${apiKey}`,
          'content-type': 'application/json',
          'content-length': body.length,
        };
        const made = request(`${baseUrl}/events/batch`, { method: 'POST', agent, headers }, (response) => {
          response.resume();
          response.once('end', () => resolve(response.statusCode ?? 0));
        });
        made.once('error', reject);
        made.end(body);
      });
      if (status !== 201) throw new Error(`expected 201, got ${status}`);
    }
    agent.destroy();
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
}

mkdirSync(folder, { recursive: true });
const isNew = !existsSync(join(dataDir, 'plane.json'));
const plane = await startPlane({ dataDir });
if (isNew) {
  const ms = await milliseconds(() => fill(plane));
  console.log(`recorded ${events} events in ${(ms / 1000).toFixed(0)} s`);
}
const env = {
  PATH: process.env['PATH'] ?? '',
  HOME: folder,
  GOV_BASE_URL: plane.baseUrl,
  GOV_API_KEY: plane.apiKey,
  GOV_FORCE_TTY: '120',
};
const gov = (...args: readonly string[]): string =>
  execFileSync(process.execPath, [entry, ...args], {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
/** Median over the rounds; the first call is not counted: it fills the compile cache. */
async function timed(...args: readonly string[]): Promise<number> {
  gov(...args);
  const samples: number[] = [];
  for (let round = 0; round < rounds; round += 1) samples.push(await milliseconds(() => gov(...args)));
  return median(samples);
}

// each search wakes the index, which follows the log: it is whole when a search for nothing is quick
const indexedMs = await milliseconds(async () => {
  while ((await milliseconds(() => gov('events', 'list', '--actor', 'nobody', '--limit', '1'))) > 1000) {
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
});
const floor = await timed('version');
const searches = [
  ['--decision', 'deny', '--since', '1h'],
  ['--since', '1h'],
  ['--since', '2402h', '--until', '2400h'],
  ['--tool', 'payments.refund', '--decision', 'deny', '--limit', '20'],
];
const rows = [{ ratio: '1.0×', figure: `${floor.toFixed(0)} ms`, what: 'floor: gov version' }];
for (const search of searches) {
  const ms = await timed('events', 'list', ...search);
  rows.push({
    ratio: `${(ms / floor).toFixed(1)}×`,
    figure: `${ms.toFixed(0)} ms`,
    what: `gov events list ${search.join(' ')}`,
  });
}
console.log(`waited ${(indexedMs / 1000).toFixed(0)} s for the index`);
report(
  `Searches over ${events} events, whole process, median of ${rounds} (reach of the first: 100 ms)`,
  rows,
);
await plane.stop();
if (process.argv[3] === undefined) discard(folder);

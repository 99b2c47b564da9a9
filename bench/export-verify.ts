/**
 * Benchmark of the offline verification of an export of 100,000 real events with proof: time and memory of the
 * process from exec to exit. The floor is SHA-256 of the same bytes in a process that reads them. `node
 * bench/export-verify.ts [events] [rounds]`
 */
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '../src/client/create.ts';
import { alternate, discard, entry, milliseconds, report, scratch, startPlane } from './support/harness.ts';
import { recordedEvents } from './support/recorded.ts';

const wanted = Number(process.argv[2] ?? 100_000);
const rounds = Number(process.argv[3] ?? 5);
const folder = scratch();
const file = join(folder, 'events.json');
const plane = await startPlane();
const client = createClient({ baseUrl: plane.baseUrl, apiKey: plane.apiKey });
for (let round = 0, left = wanted; left > 0; round += 1) {
  const events = recordedEvents(`x${round}`).slice(0, left);
  left -= events.length;
  for (let from = 0; from < events.length; from += 500) {
    await client.createEvents({ body: { events: events.slice(from, from + 500) } });
  }
}
client.close();
const env = {
  PATH: process.env['PATH'] ?? '',
  HOME: folder,
  XDG_CACHE_HOME: join(folder, 'cache'),
  GOV_BASE_URL: plane.baseUrl,
  GOV_API_KEY: plane.apiKey,
};
const made = spawnSync(
  process.execPath,
  [entry, 'export', 'run', '--resource', 'audit_events', '--proof', '-O', file, '--timeout', '10m'],
  { env, stdio: ['ignore', 'ignore', 'inherit'] },
);
if (made.status !== 0) throw new Error(`the export ended with ${made.status}`);
await plane.stop();

let peakMb = 0;

/** Runs a process to its end and records its peak memory (Linux). */
const run = (args: readonly string[], isMeasured: boolean) => () =>
  milliseconds(async () => {
    const child = spawn(process.execPath, args, { env, stdio: 'ignore' });
    const sample = setInterval(() => {
      if (isMeasured) peakMb = Math.max(peakMb, highMb(child.pid ?? 0));
    }, 20);
    const code = await new Promise((resolve) => child.once('exit', resolve));
    clearInterval(sample);
    if (code !== 0) throw new Error(`expected exit code 0, got ${String(code)}`);
  });

/** Returns 0 where the process has ended. */
function highMb(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

const hashing = `const h = require('node:crypto').createHash('sha256');
require('node:fs').createReadStream(process.argv[1], { highWaterMark: 1 << 20 }).on('data', (c) => h.update(c)).on('end', () => h.digest());`;
const trust = join(plane.dataDir, 'trust');
const times = await alternate(
  {
    floor: run(['-e', hashing, file], false),
    verify: run([entry, 'proofs', 'verify', file, '--trust', trust], true),
  },
  rounds,
);
const megabytes = statSync(file).size / 1e6;
report(
  `gov proofs verify of an export of ${wanted} events, ${megabytes.toFixed(0)} MB, median of ${rounds}`,
  [
    { ratio: '', figure: `${times.floor.toFixed(0)} ms`, what: 'floor: SHA-256 of the file' },
    {
      ratio: `${(times.verify / times.floor).toFixed(1)} ×`,
      figure: `${times.verify.toFixed(0)} ms`,
      what: 'every row, leaf and value verified (reach: 5000 ms)',
    },
    { ratio: '', figure: `${peakMb.toFixed(0)} MB`, what: 'most memory of that process (reach: 300 MB)' },
  ],
);
discard(folder);
discard(join(plane.dataDir, '..'));

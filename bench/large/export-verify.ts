/**
 * Benchmark of the offline verification of an export of 100,000 real events with proof: time and memory of the
 * process from exec to exit. The floor is SHA-256 of the same bytes in a process that reads them. `node
 * bench/large/export-verify.ts [events] [rounds]`
 */
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '../../src/client/create.ts';
import { discard, entry, report, scratch, startPlane } from '../support/harness.ts';
import { recordedEvents } from '../support/recorded.ts';
import { verifyingFile } from '../support/verifying.ts';

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

const trust = join(plane.dataDir, 'trust');
const { floorMs, verifyMs, peakMb } = await verifyingFile({ file, trust, env, rounds });
const megabytes = statSync(file).size / 1e6;
report(
  `gov proofs verify of an export of ${wanted} events, ${megabytes.toFixed(0)} MB, median of ${rounds}`,
  [
    { ratio: '', figure: `${floorMs.toFixed(0)} ms`, what: 'floor: SHA-256 of the file' },
    {
      ratio: `${(verifyMs / floorMs).toFixed(1)} ×`,
      figure: `${verifyMs.toFixed(0)} ms`,
      what: 'every row, leaf and value verified (reach: 5000 ms)',
    },
    { ratio: '', figure: `${peakMb.toFixed(0)} MB`, what: 'most memory of that process (reach: 300 MB)' },
  ],
);
discard(folder);
discard(join(plane.dataDir, '..'));

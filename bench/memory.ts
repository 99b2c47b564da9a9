/**
 * Benchmark of the resident memory of a plane: idle, and over minutes of ingest. `node bench/memory.ts
 * [minutes]`
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { discard, report, residentMb, scratch, startPlane } from './support/harness.ts';
import { load, recordedEvents } from './support/recorded.ts';

const minutes = Number(process.argv[2] ?? 10);
const folder = scratch();
const plane = await startPlane();
const pid = plane.process.pid ?? 0;
await new Promise((resolve) => setTimeout(resolve, 5000));
const idle = residentMb(pid);
const bodies = join(folder, 'bodies.json');
const events = recordedEvents('memory');
const batches = Array.from({ length: 16 }, (_, at) =>
  JSON.stringify({ events: events.slice(at * 500, at * 500 + 500) }),
);
writeFileSync(bodies, JSON.stringify(batches));
const samples: number[] = [];
let recorded = 0;
for (let minute = 0; minute < minutes; minute += 1) {
  const result = await load({
    port: Number(new URL(plane.baseUrl).port),
    path: '/api/v1/events/batch',
    key: plane.apiKey,
    connections: 2,
    seconds: 60,
    pauseMs: 100,
    bodies,
  });
  recorded += result.requests * 500;
  samples.push(residentMb(pid));
  console.log(`minute ${minute + 1}: ${samples.at(-1)?.toFixed(0)} MB, ${recorded} events`);
}
await plane.stop();
const growth = (samples.at(-1) ?? NaN) - (samples[Math.min(2, samples.length - 1)] ?? NaN);
report(`memory of a plane, ${minutes} minutes of ingest`, [
  { ratio: '', figure: `${idle.toFixed(0)} MB`, what: 'idle (reach: 120 MB)' },
  { ratio: '', figure: `${samples.at(-1)?.toFixed(0)} MB`, what: 'at the end' },
  { ratio: '', figure: `${growth.toFixed(0)} MB`, what: 'growth since minute 3 (reach: flat)' },
]);
discard(folder);
discard(join(plane.dataDir, '..'));

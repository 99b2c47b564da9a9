/**
 * Benchmark of exports of a large log as JSON and CSV, compared with a bare read of the same rows. Measures how
 * much slower recording becomes during exports, and their memory. Compares a download with a static file of the
 * same bytes, which the plane's process sends over the same server without the code of gov. `node
 * bench/exports.ts [events]`
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { openReader } from '../src/store/sqlite/store.ts';
import { discard, median, report, residentMb, scratch, share, startPlane } from './support/harness.ts';
import type { LoadResult } from './support/load.ts';
import { load, recordedEvents } from './support/recorded.ts';

const events = Number(process.argv[2] ?? 1_000_000);
const folder = scratch();
/** Loaded before the plane. Answers requests below this path with a file, as a static file server does. */
const filePath = '/bench-file';
const serveFiles = `import { Server } from 'node:http'; import { createReadStream, statSync } from 'node:fs';
import { pipeline } from 'node:stream';
const { emit } = Server.prototype;
Server.prototype.emit = function (name, request, response) {
  if (name !== 'request' || !request.url.startsWith('${filePath}')) return emit.apply(this, arguments);
  const path = decodeURIComponent(request.url.slice(${filePath.length}));
  response.writeHead(200, { 'content-length': statSync(path).size, 'content-type': 'application/json' });
  pipeline(createReadStream(path), response, () => {});
  return true;
};`;
const plane = await startPlane({
  node: ['--import', `data:text/javascript,${encodeURIComponent(serveFiles)}`],
});
const pid = plane.process.pid ?? 0;
const port = Number(new URL(plane.baseUrl).port);
const headers = { authorization: `Bearer ${plane.apiKey}` };

const sample = recordedEvents('exports');
const bodies = join(folder, 'bodies.json');
const batches = Array.from({ length: 16 }, (_, at) =>
  JSON.stringify({ events: sample.slice(at * 500, at * 500 + 500) }),
);
writeFileSync(bodies, JSON.stringify(batches));
const batchPath = '/api/v1/events/batch';
const requests = events / 500;
await load({ port, path: batchPath, key: plane.apiKey, connections: 4, seconds: 600, requests, bodies });
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

/** Seconds of a bare read of all rows. It creates each text and does nothing with it. */
function bareRead(): number {
  const db = new Database(join(plane.dataDir, 'gov.db'), { readonly: true });
  const rows = db.prepare(
    'SELECT leaf.idx, record, disclosures FROM leaf LEFT JOIN body USING (position) ORDER BY position',
  );
  const start = performance.now();
  let chars = 0;
  for (const row of rows.iterate() as Iterable<{ record: string; disclosures: string | null }>) {
    chars += row.record.length + (row.disclosures?.length ?? 0);
  }
  const seconds = (performance.now() - start) / 1000;
  db.close();
  if (chars === 0) throw new Error('expected rows');
  return seconds;
}

/**
 * Seconds of the same read with each record and field checked against its hash, as every read of this log does.
 */
async function checkedRead(): Promise<number> {
  const reader = openReader(join(plane.dataDir, 'gov.db'));
  const { projectId } = JSON.parse(readFileSync(join(plane.dataDir, 'plane.json'), 'utf8')) as {
    projectId: string;
  };
  const { size } = await reader.head(projectId, 'audit');
  const start = performance.now();
  for (let from = 0; from < size; from += 64)
    await reader.leaves(projectId, 'audit', { from, to: Math.min(size, from + 64) });
  const seconds = (performance.now() - start) / 1000;
  await reader.close();
  return seconds;
}

interface Made {
  readonly exportId: string;
  readonly seconds: number;
  readonly peakMb: number;
  readonly sizeBytes: number;
}

async function make(format: 'json' | 'csv', more: object = {}): Promise<Made> {
  const body = JSON.stringify({ resource: 'audit_events', format, ...more });
  const posted = { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' } };
  let asked = await fetch(`${plane.baseUrl}/exports`, posted);
  for (; asked.status === 429; asked = await fetch(`${plane.baseUrl}/exports`, posted)) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * Number(asked.headers.get('retry-after') ?? 1)));
  }
  const { exportId } = (await asked.json()) as { exportId: string };
  const start = performance.now();
  for (let peakMb = 0; ;) {
    const found = await fetch(`${plane.baseUrl}/exports/${exportId}`, { headers });
    const { status, errorSummary, sizeBytes } = (await found.json()) as {
      status: string;
      errorSummary: string | null;
      sizeBytes: number;
    };
    peakMb = Math.max(peakMb, residentMb(pid));
    if (status === 'completed')
      return { exportId, seconds: (performance.now() - start) / 1000, peakMb, sizeBytes };
    if (status === 'failed') throw new Error(String(errorSummary));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** MB a second of a GET whose body is dropped. */
async function fetched(url: string): Promise<number> {
  const start = performance.now();
  const { body } = await fetch(url, { headers });
  let bytes = 0;
  for await (const chunk of body ?? []) bytes += (chunk as Uint8Array).length;
  return bytes / 1e6 / ((performance.now() - start) / 1000);
}

bareRead();
const idleBefore = await stream(10);
const restMb = residentMb(pid);
const bare = median([bareRead(), bareRead(), bareRead()]);
const checked = median([await checkedRead(), await checkedRead(), await checkedRead()]);
// lets the client notice that the server closed idle sockets during the synchronous reads
await new Promise((resolve) => setTimeout(resolve, 100));
const json = await make('json');
const csv = await make('csv');
const proved = await make('json', { includeProof: true });
/**
 * Builds exports one after the other during recording. Returns the share of that time in which one was built.
 */
async function besideExports(): Promise<{ readonly busy: LoadResult; readonly built: number }> {
  const seconds = Math.max(10, json.seconds * 2);
  const stopAt = performance.now() + seconds * 1000;
  const recorded = stream(seconds);
  let built = 0;
  while (performance.now() < stopAt) built += (await make('json')).seconds;
  return { busy: await recorded, built: Math.min(1, built / seconds) };
}
const { busy, built } = await besideExports();
const idleAfter = await stream(10);

const place = join(plane.dataDir, 'exports');
const name =
  readdirSync(place, { recursive: true, encoding: 'utf8' }).find((each) => each.includes(json.exportId)) ??
  '';
const staticUrl = `http://127.0.0.1:${port}${filePath}${encodeURIComponent(join(place, name))}`;
const url = `${plane.baseUrl}/exports/${json.exportId}/download`;
const rates = { ours: [] as number[], plain: [] as number[] };
for (let round = 0; round < 5; round += 1) {
  rates.plain.push(await fetched(staticUrl));
  rates.ours.push(await fetched(url));
}
const [ours, plain] = [median(rates.ours), median(rates.plain)];
const rate = (seconds: number): string => `${Math.round(events / seconds)}/s`;
report(`exports of ${events} events`, [
  { ratio: '100 %', figure: rate(bare), what: 'bare read of the rows' },
  {
    ratio: share(bare, checked),
    figure: rate(checked),
    what: 'the same, each record and field held against its hash',
  },
  {
    ratio: share(bare, json.seconds),
    figure: rate(json.seconds),
    what: `JSON, ${(json.sizeBytes / 1e6).toFixed(0)} MB`,
  },
  {
    ratio: share(bare, csv.seconds),
    figure: rate(csv.seconds),
    what: `CSV, ${(csv.sizeBytes / 1e6).toFixed(0)} MB`,
  },
  { ratio: share(bare, proved.seconds), figure: rate(proved.seconds), what: 'JSON with proofs' },
  {
    ratio: '',
    figure: `+${(Math.max(json.peakMb, csv.peakMb, proved.peakMb) - restMb).toFixed(0)} MB`,
    what: `resident, from ${restMb.toFixed(0)} MB`,
  },
  {
    ratio: `${(busy.p99 / ((idleBefore.p99 + idleAfter.p99) / 2)).toFixed(1)} x`,
    figure: `${busy.p99.toFixed(1)} ms`,
    what: `p99 of recording meanwhile (built ${(100 * built).toFixed(0)} % of the time), idle ${idleBefore.p99.toFixed(1)} ms before and ${idleAfter.p99.toFixed(1)} ms after`,
  },
  {
    ratio: share(ours, plain),
    figure: `${ours.toFixed(0)} MB/s`,
    what: `download; the file itself by the same server ${plain.toFixed(0)} MB/s`,
  },
]);
await plane.stop();
discard(folder);

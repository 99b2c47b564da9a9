/**
 * Benchmark of batch ingest over HTTP: recorded events in batches of 500, each with field commitments, durable
 * at FULL. The floor writes the same final rows by bare better-sqlite3. The peer is the in-memory hash chain of
 * @microsoft/agent-governance-sdk, which stores nothing on disk. `node bench/ingest.ts [rounds] [connections]`
 */
import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventInput } from '../src/contract/events.ts';
import { Bare } from './support/floor.ts';
import { cpuSeconds, discard, median, peer, report, scratch, share, startPlane } from './support/harness.ts';
import type { LoadResult } from './support/load.ts';
import { load, recordedEvents } from './support/recorded.ts';

const rounds = Number(process.argv[2] ?? 5);
const connections = Number(process.argv[3] ?? 4);
const batchSize = 500;
const folder = scratch();

/** A file with the bodies of one round, with new ids in each. */
function bodiesOf(round: number): { file: string; count: number; events: number } {
  const events = [0, 1, 2, 3].flatMap((part) => recordedEvents(`ingest${round}-${part}`, { keyed: true }));
  const bodies: string[] = [];
  for (let from = 0; from < events.length; from += batchSize) {
    bodies.push(JSON.stringify({ events: events.slice(from, from + batchSize) }));
  }
  const file = join(folder, `bodies-${round}.json`);
  writeFileSync(file, JSON.stringify(bodies));
  return { file, count: bodies.length, events: events.length };
}

interface AuditLogger {
  log(entry: { agentId: string; action: string; decision: string }): unknown;
}
const peerName = '@microsoft/agent-governance-sdk';
const peerModule = createRequire(join(peer(peerName), 'index.js'))(peerName) as {
  AuditLogger: new () => AuditLogger;
};

/** Events a second of the peer's log. It takes an agent, an action and a decision, and drops the rest. */
function peerRate(events: readonly EventInput[]): number {
  const logger = new peerModule.AuditLogger();
  const start = performance.now();
  for (const event of events) {
    logger.log({ agentId: String(event.runId), action: event.action, decision: 'allow' });
  }
  return (events.length / (performance.now() - start)) * 1000;
}

const plane = await startPlane();
const pid = plane.process.pid ?? 0;
const port = Number(new URL(plane.baseUrl).port);
const post = (bodies: { file: string; count: number }): Promise<LoadResult> =>
  load({
    port,
    path: '/api/v1/events/batch',
    key: plane.apiKey,
    connections,
    seconds: 60,
    requests: bodies.count,
    bodies: bodies.file,
  });

const sample = recordedEvents('peer');
await post(bodiesOf(0));
const floor = new Bare(join(plane.dataDir, 'gov.db'));
for (let warm = 1; warm <= 3; warm += 1) {
  floor.insert(batchSize);
  await post(bodiesOf(warm));
}
const rates: {
  floor: number;
  ours: number;
  peer: number;
  serverUs: number;
  clientUs: number;
  p99: number;
}[] = [];
for (let round = 4; round < 4 + rounds; round += 1) {
  const bodies = bodiesOf(round);
  const bare = floor.insert(batchSize);
  const before = cpuSeconds(pid);
  const result = await post(bodies);
  if (result.failed > 0) throw new Error(`${result.failed} batches failed`);
  const perEvent = 1e6 / bodies.events;
  rates.push({
    floor: bare,
    ours: bodies.events / result.seconds,
    peer: peerRate(sample),
    serverUs: (cpuSeconds(pid) - before) * perEvent,
    clientUs: result.cpuSeconds * perEvent,
    p99: result.p99,
  });
}
floor.close();
await plane.stop();

const of = (key: keyof (typeof rates)[number]): number => median(rates.map((rate) => rate[key]));
const rate = (key: 'floor' | 'ours' | 'peer'): string => `${of(key).toFixed(0)} /s`;
report(`batch ingest over HTTP, ${batchSize} a batch, ${connections} connections, median of ${rounds}`, [
  { ratio: '', figure: rate('floor'), what: 'floor: bare better-sqlite3, same rows and indexes, FULL' },
  {
    ratio: share(of('ours'), of('floor')),
    figure: rate('ours'),
    what: `gov over HTTP, durable, committed, in the tree (reach: 30 %, goal 50 %); p99 ${of('p99').toFixed(0)} ms a batch`,
  },
  {
    ratio: share(of('peer'), of('floor')),
    figure: rate('peer'),
    what: `peer: ${peerName}, hash chain in memory, three fields, nothing stored`,
  },
  {
    ratio: '',
    figure: `${of('serverUs').toFixed(0)} µs`,
    what: `server CPU per event (all its threads); client ${of('clientUs').toFixed(0)} µs beside it on the same cores`,
  },
]);
discard(folder);
discard(join(plane.dataDir, '..'));

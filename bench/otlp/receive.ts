/**
 * Benchmark of receiving OTLP: spans a second in JSON and protobuf beside the bare parse of the same bytes in
 * this process, kept events a second, server CPU, and resident memory over requests of 1 MB. `node bench/otlp/receive.ts
 * [rounds] [requests of 1 MB]`
 */
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { readBatch, receive } from '../../src/core/intake/receive.ts';
import { decodeSignal } from '../../src/core/intake/otlp/protobuf.ts';
import { cpuSeconds, discard, median, report, residentMb, share, startPlane } from '../support/harness.ts';
import { agentSpans, protobufOf, recordedSpans, spansIn, type TraceRequest } from './requests.ts';

const rounds = Number(process.argv[2] ?? 5);
const large = Number(process.argv[3] ?? 1000);
const connections = 4;

const plane = await startPlane();
const pid = plane.process.pid ?? 0;
const { port } = new URL(plane.baseUrl);
const agent = new Agent({ keepAlive: true, maxSockets: connections });

type Encoding = 'json' | 'protobuf';
const mediaTypes = { json: 'application/json', protobuf: 'application/x-protobuf' } as const;

/** Sends a body; returns the count of kept records. */
const post = (body: Buffer, encoding: Encoding): Promise<number> =>
  send({ path: '/v1/traces', type: mediaTypes[encoding], body }).then((records) => {
    const [, kept] = /kept=(\d+)/.exec(records) ?? [];
    return Number(kept);
  });

/** The events of requests as batches of the interface. */
function batchesOf(requests: readonly TraceRequest[]): Buffer[] {
  const atMs = Date.now();
  const options = { atMs, capture: 'hashes', known: new Map() } as const;
  return requests.flatMap((each) => {
    const { events } = receive(readBatch('traces', { ...each }, { atMs }), options);
    const plain = events.map(({ event }) => event);
    const parts = [plain.slice(0, 500), plain.slice(500)].filter(({ length }) => length > 0);
    return parts.map((part) => Buffer.from(JSON.stringify({ events: part })));
  });
}

/** Sends a request; returns the header with the counts of records. */
function send({ path, type, body }: { path: string; type: string; body: Buffer }): Promise<string> {
  const headers = {
    authorization: `Bearer ${plane.apiKey}`,
    'content-type': type,
    'content-length': body.length,
  };
  return new Promise<string>((resolve, reject) => {
    const sent = request({ port, path, method: 'POST', agent, headers }, (response) => {
      const text: Buffer[] = [];
      response.on('data', (chunk: Buffer) => text.push(chunk));
      response.on('end', () => {
        if ((response.statusCode ?? 500) < 300) resolve(String(response.headers['gov-records']));
        else reject(new Error(`${response.statusCode}: ${Buffer.concat(text).toString()}`));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Sends all bodies over the connections; returns the sum of what `one` returns. */
async function sendAll(bodies: readonly Buffer[], one: (body: Buffer) => Promise<number>): Promise<number> {
  const left = [...bodies];
  let sum = 0;
  const worker = async (): Promise<void> => {
    for (let body = left.shift(); body !== undefined; body = left.shift()) {
      const more = await one(body);
      sum += more;
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  return sum;
}

const postBatch = (body: Buffer): Promise<number> =>
  send({ path: '/api/v1/events/batch', type: 'application/json', body }).then(() => 0);

const encode = (sent: TraceRequest, encoding: Encoding): Buffer =>
  encoding === 'json' ? Buffer.from(JSON.stringify(sent)) : protobufOf(sent);
const parse = (body: Buffer, encoding: Encoding): unknown =>
  encoding === 'json' ? JSON.parse(body.toString('utf8')) : decodeSignal(body, 'traces');

const kinds: Readonly<Record<string, () => TraceRequest>> = {
  'an agent, 512 spans a request, all kept': () => agentSpans(512),
  'Vercel AI SDK, recorded, long messages': () =>
    recordedSpans('vercel-ai-sdk-7-genai.json/0001.traces.json'),
  'Codex, recorded, internal spans, none kept': () => recordedSpans('codex-cli-0.169/0001.traces.json'),
};

for (const [name, make] of Object.entries(kinds)) {
  const rows: { ratio: string; figure: string; what: string }[] = [];
  for (const encoding of ['json', 'protobuf'] as const) {
    const figures: { spans: number; bare: number; kept: number; cpu: number; bytes: number }[] = [];
    for (let round = 0; round < rounds + 2; round += 1) {
      const requests = Array.from({ length: 16 }, make);
      const bodies = requests.map((each) => encode(each, encoding));
      const spans = requests.reduce((sum, each) => sum + spansIn(each), 0);
      const parsing = performance.now();
      for (const body of bodies) parse(body, encoding);
      const bare = (performance.now() - parsing) / 1000;
      const cpu = cpuSeconds(pid);
      const start = performance.now();
      const kept = await sendAll(bodies, (body) => post(body, encoding));
      const seconds = (performance.now() - start) / 1000;
      if (round < 2) continue; // warming up
      figures.push({
        spans: spans / seconds,
        bare: spans / bare,
        kept: kept / seconds,
        cpu: ((cpuSeconds(pid) - cpu) * 1e6) / spans,
        bytes: bodies.reduce((sum, { length }) => sum + length, 0) / spans,
      });
    }
    const of = (key: keyof (typeof figures)[number]): number => median(figures.map((each) => each[key]));
    rows.push(
      {
        ratio: '',
        figure: `${of('bare').toFixed(0)} /s`,
        what: `${encoding}: bare parse, ${of('bytes').toFixed(0)} bytes a span`,
      },
      {
        ratio: share(of('spans'), of('bare')),
        figure: `${of('spans').toFixed(0)} /s`,
        what: `${encoding}: received (reach: 30 %); ${of('kept').toFixed(0)} kept/s (reach: 5000); server ${of('cpu').toFixed(0)} µs CPU a span`,
      },
    );
  }
  const batches: number[] = [];
  for (let round = 0; round < rounds + 1; round += 1) {
    const requests = Array.from({ length: 16 }, make);
    const bodies = batchesOf(requests);
    if (bodies.length === 0) break;
    const start = performance.now();
    await sendAll(bodies, postBatch);
    const seconds = (performance.now() - start) / 1000;
    if (round > 0) batches.push(requests.reduce((sum, each) => sum + spansIn(each), 0) / seconds);
  }
  if (batches.length > 0)
    rows.push({
      ratio: '',
      figure: `${median(batches).toFixed(0)} /s`,
      what: 'the events of the same spans by POST /events/batch, which reads no span',
    });
  report(`spans a second, ${name}, median of ${rounds}`, rows);
}

const megabyte = () => encode(agentSpans(256, 3200), 'json');
const postJson = (body: Buffer) => post(body, 'json');
await sendAll(Array.from({ length: 20 }, megabyte), postJson);
const before = residentMb(pid);
let most = before;
let bytes = 0;
for (let sent = 0; sent < large; sent += 20) {
  const bodies = Array.from({ length: 20 }, megabyte);
  bytes += bodies.reduce((sum, { length }) => sum + length, 0);
  await sendAll(bodies, postJson);
  most = Math.max(most, residentMb(pid));
}
report(`memory over ${large} requests of ${(bytes / large / 1e6).toFixed(2)} MB, ${connections} at once`, [
  { ratio: '', figure: `${before.toFixed(0)} MB`, what: 'after 20 requests' },
  { ratio: '', figure: `${(most - before).toFixed(0)} MB`, what: 'more at the most (reach: 150 MB)' },
]);
agent.destroy();
await plane.stop();
discard(join(plane.dataDir, '..'));

/**
 * A load client of few instructions, in a process of its own, so that its CPU is separate from that of the server. It
 * writes prepared bytes into keep-alive sockets, with one request in flight per socket. Loopback only.
 *
 *   node bench/support/load.ts '{"port":7460,"path":"/api/v1/events","key":"gov_…","connections":64,"seconds":5,"bodies":"bodies.json"}'
 *
 * Prints one JSON line: { requests, seconds, failed, p50, p99, p999, cpuSeconds } (latencies in ms).
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { pathToFileURL } from 'node:url';
import { percentile } from './harness.ts';

export interface LoadOptions {
  readonly port: number;
  readonly path: string;
  readonly key: string;
  readonly connections: number;
  /** Stops after this time, or after `requests`. */
  readonly seconds: number;
  readonly requests?: number;
  /** A file with a JSON array of body texts, used in turn. */
  readonly bodies: string;
  /** Pause between the requests of one connection, for a fixed rate. */
  readonly pauseMs?: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly cpuSeconds: number;
}

const headerEnd = Buffer.from('\r\n\r\n');

function prepare(options: LoadOptions): Buffer[] {
  const bodies = JSON.parse(readFileSync(options.bodies, 'utf8')) as string[];
  return bodies.map((body) =>
    Buffer.from(
      `POST ${options.path} HTTP/1.1\r\nhost: 127.0.0.1:${options.port}\r\nauthorization: Bearer ${options.key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    ),
  );
}

/** Length of the first whole response in `bytes`, or 0. */
function responseLength(bytes: Buffer): number {
  const end = bytes.indexOf(headerEnd);
  if (end === -1) return 0;
  const head = bytes.toString('latin1', 0, end);
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
  return bytes.length >= end + 4 + length ? end + 4 + length : 0;
}

/** Must stay below `limits.requestsPerSocket`. */
const requestsPerSocket = 900;

async function run(options: LoadOptions): Promise<LoadResult> {
  const requests = prepare(options);
  const latencies: number[] = [];
  let failed = 0;
  let next = 0;
  const most = options.requests ?? Infinity;
  const start = performance.now();
  const over = () => next >= most || performance.now() - start > options.seconds * 1000;

  const drive = (socket: Socket, done: () => void, again: () => void): void => {
    let sent = 0;
    let answered = 0;
    let held: Buffer = Buffer.alloc(0);
    const send = () => {
      if (over()) return void socket.end(done);
      // closes the socket first: a socket that the server closes would count as a failure
      if (answered === requestsPerSocket) return void socket.end(again);
      sent = performance.now();
      socket.write(requests[next++ % requests.length] ?? Buffer.alloc(0));
    };
    socket.on('data', (chunk: Buffer) => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const length = responseLength(held);
      if (length === 0) return;
      latencies.push(performance.now() - sent);
      answered += 1;
      if (!held.toString('latin1', 9, 12).startsWith('20')) failed += 1;
      held = held.subarray(length);
      if (options.pauseMs === undefined) send();
      else setTimeout(send, options.pauseMs);
    });
    send();
  };
  const open = (resolve: () => void, reject: (error: Error) => void): void => {
    const socket = connect({ port: options.port, host: '127.0.0.1', noDelay: true }, () =>
      drive(socket, resolve, () => open(resolve, reject)),
    );
    socket.on('error', reject);
  };
  await Promise.all(Array.from({ length: options.connections }, () => new Promise<void>(open)));
  const { user, system } = process.cpuUsage();
  return {
    requests: latencies.length,
    seconds: (performance.now() - start) / 1000,
    failed,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    p999: percentile(latencies, 0.999),
    cpuSeconds: (user + system) / 1e6,
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.log(JSON.stringify(await run(JSON.parse(process.argv[2] ?? '{}') as LoadOptions)));
}

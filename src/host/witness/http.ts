/**
 * The two routes of a witness over node:http (C2SP tlog-witness). Bodies, headers, connections and times are
 * bounded. No credential is needed, because a checkpoint is signed. Proven by
 * `test/host/witness/server.test.ts`.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { parseWitnessRequest, sizeType, type WitnessRequest } from '../../core/note/witness.ts';
import { connectionsThatFit } from '../process/open-files.ts';
import type { Log } from '../../service/call/log.ts';
import { troubleOf } from '../../store/file/faults.ts';
import type { Address } from '../config/layers.ts';
import type { IndexWitness } from './derived/witness.ts';
import type { Cosign, WitnessStore } from './store.ts';

export interface WitnessServer {
  readonly url: string;
  /** Stops accepting, and answers accepted requests first. */
  close(): Promise<void>;
}

interface Options {
  readonly store: WitnessStore;
  readonly cosign: Cosign;
  readonly nowSeconds: () => number;
  /** Of an index witness: derives the index of a log before its checkpoint is cosigned. */
  readonly index: Pick<IndexWitness, 'judge' | 'health'> | null;
  /** Receives each write error of the store. */
  readonly failed: (error: unknown) => void;
  readonly log: Log;
}

/** Listens. CONFLICT where the address is taken. */
export async function listenAsWitness(address: Address, options: Options): Promise<WitnessServer> {
  const server = createServer({ maxHeaderSize: limits.headerBytes }, (request, response) => {
    answer(request, options).then(
      ({ status, type = 'text/plain; charset=utf-8', body, headers = {} }) => {
        // otherwise the unread rest of a body would be parsed as the next request
        const unread = request.complete ? {} : { connection: 'close' };
        const own = { 'content-type': type, 'x-content-type-options': 'nosniff', ...headers };
        response.writeHead(status, { ...own, ...unread });
        return response.end(body);
      },
      (error: unknown) => refuse(response, error, options),
    );
  });
  server.headersTimeout = limits.headersTimeoutSeconds * 1000;
  server.requestTimeout = limits.requestTimeoutSeconds * 1000;
  server.keepAliveTimeout = limits.keepAliveSeconds * 1000;
  server.maxConnections = connectionsThatFit(limits.witnessConnections);
  await listen(server, address);
  const { port } = server.address() as AddressInfo; // it listens at a host and port
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return {
    url: `http://${host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}

const listen = (server: Server, { host, port }: Address): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EADDRINUSE') return reject(cause);
      const detail = `expected ${host}:${port} to be free, but another program listens there; give --listen HOST:PORT`;
      return reject(new GovError('CONFLICT', detail, { cause }));
    });
    server.listen(port, host, () => resolve());
  });

interface Answer {
  readonly status: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

const said = (status: number, text: string): Answer => ({ status, body: `${text}\n` });

const monitored = /^\/([0-9a-f]{64})\/checkpoint$/;

async function answer(request: IncomingMessage, options: Options): Promise<Answer> {
  const path = request.url?.split('?', 1)[0] ?? '';
  if (path === '/add-checkpoint') {
    return request.method === 'POST' ? addCheckpoint(request, options) : said(405, 'expected POST');
  }
  if (path === '/health' && options.index !== null)
    return { status: 200, type: 'application/json', body: `${JSON.stringify(options.index.health())}\n` };
  const [, originHash] = monitored.exec(path) ?? [];
  if (originHash === undefined) return said(404, 'expected POST /add-checkpoint');
  if (request.method !== 'GET') return said(405, 'expected GET');
  const note = options.store.note(originHash);
  return note === null ? said(404, 'no checkpoint of this log was cosigned') : { status: 200, body: note };
}

/** What an index witness says first: null where the checkpoint may be cosigned, or has another fault. */
async function judged(request: WitnessRequest, { store, index }: Options): Promise<Answer | null> {
  const decided = index === null ? null : store.decide(request);
  if (index === null || decided?.status !== 200) return null;
  const found = await index.judge(request.note, decided.checkpoint);
  if (found.kind === 'refused') return said(422, `refused for good: ${found.detail}`);
  if (found.kind === 'right') return null;
  return { ...said(503, found.detail), headers: { 'retry-after': `${limits.indexWitnessSeconds}` } };
}

async function addCheckpoint(request: IncomingMessage, options: Options): Promise<Answer> {
  const { store, cosign, nowSeconds, log } = options;
  const body = await bodyOf(request);
  if (body === null) return said(413, `expected at most ${limits.witnessBodyBytes} bytes`);
  const parsed = read(body);
  if (typeof parsed === 'string') return said(400, parsed);
  const first = await judged(parsed, options);
  if (first !== null) return first;
  const decided = store.add(parsed, nowSeconds(), cosign);
  if (decided.status === 200) return { status: 200, body: decided.lines ?? '' };
  const { status, detail } = decided;
  if (status === 409 && decided.knownSize !== null) {
    return { status, type: sizeType, body: `${decided.knownSize}\n` };
  }
  // the log signed two contradicting checkpoints: this log line is evidence
  if (status === 409 || status === 422)
    log.error({ status, detail, note: parsed.note }, 'a log contradicts itself');
  return said(status, detail);
}

/** Returns the request, or the text of its fault. */
function read(body: Buffer): ReturnType<typeof parseWitnessRequest> | string {
  try {
    return parseWitnessRequest(body);
  } catch (error) {
    if (error instanceof GovError) return error.message;
    throw error;
  }
}

/** Returns null for a body that is too long, without reading it to its end. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  if (Number(request.headers['content-length'] ?? 0) > limits.witnessBodyBytes) return null;
  const chunks: Buffer[] = [];
  let size = 0;
  // leaving a `for await` loop would destroy the socket before the response
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limits.witnessBodyBytes) {
        request.pause();
        resolve(null);
      } else chunks.push(chunk);
    });
    request.once('end', () => resolve(Buffer.concat(chunks, size)));
    request.once('error', reject);
  });
}

/**
 * Answers 503: nothing was cosigned. A failed store ends the process. With a full disk it continues once there
 * is space.
 */
function refuse(response: ServerResponse, error: unknown, { failed, log }: Options): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  if (troubleOf(error) === 'fault') failed(error);
  else log.error({ err: error }, 'could not answer a request');
  response.writeHead(503, {
    'content-type': 'text/plain; charset=utf-8',
    connection: 'close',
    'retry-after': '5',
  });
  response.end('the witness cannot keep checkpoints now\n');
}

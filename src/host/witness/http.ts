/**
 * The two routes of a witness over node:http: bodies, headers, connections and times are bounded, and nobody needs a
 * credential, since a checkpoint is signed. Proven by `test/host/witness/server.test.ts`.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { parseWitnessRequest, sizeType } from '../../core/note/witness.ts';
import type { Log } from '../../service/call/log.ts';
import { troubleOf } from '../../store/file/faults.ts';
import type { Address } from '../process/layers.ts';
import type { Cosign, WitnessStore } from './store.ts';

export interface WitnessServer {
  readonly url: string;
  /** Stops accepting; what was accepted is answered first. */
  close(): Promise<void>;
}

interface Options {
  readonly store: WitnessStore;
  readonly cosign: Cosign;
  readonly nowSeconds: () => number;
  /** Told of what the store could not write. */
  readonly failed: (error: unknown) => void;
  readonly log: Log;
}

/** CONFLICT where the address is taken. */
export async function listenAsWitness(address: Address, options: Options): Promise<WitnessServer> {
  const server = createServer({ maxHeaderSize: limits.headerBytes }, (request, response) => {
    answer(request, options).then(
      ({ status, type = 'text/plain; charset=utf-8', body }) => {
        // a body that was not read to its end would be taken for the next request
        const unread = request.complete ? {} : { connection: 'close' };
        response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff', ...unread });
        return response.end(body);
      },
      (error: unknown) => refuse(response, error, options),
    );
  });
  server.headersTimeout = limits.headersTimeoutSeconds * 1000;
  server.requestTimeout = limits.requestTimeoutSeconds * 1000;
  server.keepAliveTimeout = limits.keepAliveSeconds * 1000;
  server.maxConnections = limits.witnessConnections;
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
  readonly body: string;
}

const said = (status: number, text: string): Answer => ({ status, body: `${text}\n` });

const monitored = /^\/([0-9a-f]{64})\/checkpoint$/;

async function answer(request: IncomingMessage, options: Options): Promise<Answer> {
  const path = request.url?.split('?', 1)[0] ?? '';
  if (path === '/add-checkpoint') {
    return request.method === 'POST' ? addCheckpoint(request, options) : said(405, 'expected POST');
  }
  const [, originHash] = monitored.exec(path) ?? [];
  if (originHash === undefined) return said(404, 'expected POST /add-checkpoint');
  if (request.method !== 'GET') return said(405, 'expected GET');
  const note = options.store.note(originHash);
  return note === null ? said(404, 'no checkpoint of this log was cosigned') : { status: 200, body: note };
}

async function addCheckpoint(
  request: IncomingMessage,
  { store, cosign, nowSeconds, log }: Options,
): Promise<Answer> {
  const body = await bodyOf(request);
  if (body === null) return said(413, `expected at most ${limits.witnessBodyBytes} bytes`);
  const parsed = read(body);
  if (typeof parsed === 'string') return said(400, parsed);
  const decided = store.add(parsed, nowSeconds(), cosign);
  if (decided.status === 200) return { status: 200, body: decided.lines ?? '' };
  const { status, detail } = decided;
  if (status === 409 && decided.knownSize !== null) {
    return { status, type: sizeType, body: `${decided.knownSize}\n` };
  }
  // signed by the log, and against what it signed before: whoever reads this log has evidence
  if (status === 409 || status === 422)
    log.error({ status, detail, note: parsed.note }, 'a log contradicts itself');
  return said(status, detail);
}

/** The request, or what is wrong with it. */
function read(body: Buffer): ReturnType<typeof parseWitnessRequest> | string {
  try {
    return parseWitnessRequest(body);
  } catch (error) {
    if (error instanceof GovError) return error.message;
    throw error;
  }
}

/** Null where it is too long; then it is not read to its end. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  if (Number(request.headers['content-length'] ?? 0) > limits.witnessBodyBytes) return null;
  const chunks: Buffer[] = [];
  let size = 0;
  // leaving the loop would destroy the socket before the answer
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

/** Nothing was cosigned. A store that failed ends the process; with a full disk it goes on once there is space. */
function refuse(response: ServerResponse, error: unknown, { failed, log }: Options): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  if (troubleOf(error) === 'fault') failed(error);
  else log.error({ err: error }, 'a request could not be answered');
  response.writeHead(503, {
    'content-type': 'text/plain; charset=utf-8',
    connection: 'close',
    'retry-after': '5',
  });
  response.end('the witness cannot keep checkpoints now\n');
}

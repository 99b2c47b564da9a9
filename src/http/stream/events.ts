/**
 * Live events over a WebSocket (RFC 6455, contract O7): `GET /events/stream?runId=&eventType=&after=`, one
 * JSON event per message. The server reads events from the store page by page, only as fast as the client
 * reads. At most one page waits for a client. The server closes a stalled stream with 1013; the client
 * resumes by `after`. Each page passes the same admission as a request. Proven by
 * `test/http/stream/events.engines.long.test.ts` and `test/http/admit/revoked.test.ts`.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import { streams } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { Caller } from '../../service/call/caller.ts';
import type { JsonSchema } from '../../service/call/explain.ts';
import { EventTails, type NewEventReader } from '../../service/events/arrivals.ts';
import type { Services } from '../../service/port/services.ts';
import { DenialError, type OperationPlace } from '../../service/credentials/shown.ts';
import { requireScope } from '../call/admit.ts';
import type { Origins } from '../admit/origins.ts';
import { authenticate, spend, type Gate } from '../admit/gate.ts';
import { checkEnvelope, repeatedFault } from '../admit/negotiate.ts';
import { endWithProblem } from '../answer/raw.ts';
import { requestId } from '../admit/request-id.ts';
import { basePaths } from '../call/route.ts';
import { streamAfterHeader } from '../../contract/stream.ts';
import { asGovError } from '../answer/errors.ts';
import { readQuery } from '../call/text.ts';

// a schema of the contract is JSON Schema
const streamQuery = streams.streamEvents.query as unknown as JsonSchema;

const environments = ['production', 'sandbox'] as const;
const streamPath = (environment: OperationPlace['environment']): string =>
  `${basePaths[environment]}${streams.streamEvents.path}`;
export const streamPaths = environments.map(streamPath);

/** Whether a request asks for a stream. The server ignores every other upgrade (RFC 9110 section 7.8). */
export function asksForStream({ method, url = '', headers }: IncomingMessage): boolean {
  if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return false;
  return environments.some((environment) => splitUrl(url)[0] === streamPath(environment));
}

interface StreamOptions {
  readonly services: Services;
  /** Null on a plane. */
  readonly gate: Gate | null;
  /** Which pages may send the session cookie. */
  readonly origins: Origins;
  readonly problemBase: () => string;
  /** Seconds that a client may read nothing; default: `limits.streamStallSeconds`. */
  readonly stallSeconds?: number | undefined;
}

interface Subscription {
  readonly caller: Caller;
  /** Admits the client again. Rejects where its credential has ended or lost the scope. */
  readonly readmit: () => Promise<void>;
  readonly filter: { readonly runId?: string; readonly eventType?: string };
  after: number;
}

const tryAgainLater = 1013;
const goingAway = 1001;
const policyViolation = 1008;
const internalError = 1011;

/** All streams of one server. */
export class Streams {
  readonly #options: StreamOptions;
  readonly #open = new Map<WebSocket, Caller>();
  readonly #tails: EventTails;
  #sockets: Promise<WebSocketServer> | undefined;

  constructor(server: Server, options: StreamOptions) {
    this.#options = options;
    this.#tails = new EventTails(options.services);
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      this.#upgrade(request, socket, head).catch((error: unknown) => this.#refuse(request, socket, error));
    });
  }

  /** Ends every stream. Clients reconnect elsewhere or later. */
  close(): void {
    for (const socket of this.#open.keys()) socket.close(goingAway, 'the server is shutting down');
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const subscription = await this.#admit(request);
    this.#sockets ??= import('ws').then(
      ({ WebSocketServer: Sockets }) =>
        new Sockets({ noServer: true, maxPayload: 1024, perMessageDeflate: false, clientTracking: false }),
    );
    const sockets = await this.#sockets;
    const { caller } = subscription;
    this.#requireRoom(caller);
    // a client that got no event yet resumes there
    const start = (lines: string[]): void => void lines.push(`${streamAfterHeader}: ${subscription.after}`);
    sockets.once('headers', start);
    sockets.handleUpgrade(request, socket, head, (client) => {
      this.#open.set(client, caller);
      client.on('close', () => this.#open.delete(client));
      feed(client, subscription, { ...this.#options, tails: this.#tails });
    });
    // a handshake that failed wrote no headers
    sockets.off('headers', start);
  }

  async #admit(request: IncomingMessage): Promise<Subscription> {
    const { services, gate, origins } = this.#options;
    const { credentials } = services;
    checkEnvelope(request);
    const fault = repeatedFault(request);
    if (fault !== null) throw fault;
    const [path = '', query = ''] = splitUrl(request.url ?? '');
    const environment = environments.find((name) => path === streamPath(name));
    if (environment === undefined) throw new GovError('NOT_FOUND', 'no stream has this path');
    const place = { environment, needsProject: true };
    const asked = { credentials, gate, origins, place, rate: 'default' } as const;
    const identify = () => authenticate({ raw: request, lines: null }, asked);
    const caller = await identify();
    if (gate !== null) spend({ raw: request, lines: null }, gate.rates.spend('default', caller.id));
    requireScope(caller, 'events:read');
    const readmit = async () => requireScope(await identify(), 'events:read');
    const { after, ...filter } = readQuery(streamQuery, query) as { after?: number };
    const { size } = await services.store.head(caller.project.projectId, 'audit');
    return { caller, readmit, filter, after: after ?? size - 1 };
  }

  /**
   * OVERLOADED where the server has too many streams, RATE_LIMITED where one key or organization of a service
   * has.
   */
  #requireRoom({ id, project }: Caller): void {
    if (this.#open.size >= limits.streams) {
      throw new GovError('OVERLOADED', `expected at most ${limits.streams} streams at once`);
    }
    const open = [...this.#open.values()];
    refuseMore(
      open.filter((each) => each.id === id),
      { most: limits.streamsPerKey, of: 'one key' },
    );
    // a plane serves one organization
    if (this.#options.services.hosting === null) return;
    const { organizationId } = project;
    refuseMore(
      open.filter((each) => each.project.organizationId === organizationId),
      { most: limits.streamsPerOrganization, of: 'one organization' },
    );
  }

  #refuse(request: IncomingMessage, socket: Duplex, error: unknown): void {
    const { services } = this.#options;
    const known = asGovError(error);
    if (known.code === 'INTERNAL') services.log.error({ err: error }, 'a stream could not open');
    if (known instanceof DenialError) {
      services.denied?.(known.caller, { operation: 'streamEvents', code: known.code });
    }
    endWithProblem(socket, known, { requestId: requestId(request), base: this.#options.problemBase() });
  }
}

function refuseMore(own: readonly Caller[], { most, of }: { most: number; of: string }): void {
  if (own.length < most) return;
  const detail = `expected at most ${most} streams of ${of} at once; close some first`;
  throw new GovError('RATE_LIMITED', detail, { retryAfterSeconds: limits.overloadRetrySeconds });
}

const splitUrl = (url: string): [string, string] => {
  const at = url.indexOf('?');
  return at === -1 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)];
};

/** Sends events from the store until the socket closes. */
function feed(
  socket: WebSocket,
  subscription: Subscription,
  options: StreamOptions & { readonly tails: EventTails },
): void {
  const { services, tails, stallSeconds = limits.streamStallSeconds } = options;
  const { caller, filter } = subscription;
  const { projectId } = caller.project;
  let busy = false;
  let grew = false;
  const pump = async (): Promise<void> => {
    if (busy) {
      grew = true;
      return;
    }
    busy = true;
    try {
      do {
        grew = false;
        await sendNew(socket, { reader, subscription, stallSeconds });
      } while (grew && socket.readyState === socket.OPEN);
    } catch (error) {
      end(socket, error, services);
    } finally {
      busy = false;
    }
  };
  const reader = tails.watch(projectId, filter, () => void pump());
  const stopPinging = keepAlive(socket, () => {
    subscription.readmit().catch((error: unknown) => end(socket, error, services));
  });
  socket.on('error', () => socket.terminate());
  socket.on('close', () => {
    reader.end();
    stopPinging();
  });
  void pump();
}

async function sendNew(
  socket: WebSocket,
  {
    reader,
    subscription,
    stallSeconds,
  }: {
    readonly reader: NewEventReader;
    readonly subscription: Subscription;
    readonly stallSeconds: number;
  },
): Promise<void> {
  while (await sendPage(socket, reader, subscription)) {
    // the page is released before this wait, so that only the socket's own buffer stays in memory
    if (isFull(socket) && !(await drained(socket, stallSeconds))) {
      socket.close(tryAgainLater, 'reading too slowly; resume after the last sequence');
      // the close frame waits behind unread data; the server does not wait for the client longer than this
      setTimeout(() => socket.terminate(), limits.streamCloseSeconds * 1000).unref();
      return;
    }
  }
}

/**
 * Sends one page and returns whether more can be sent now. Events that the socket has no room for are read
 * again.
 */
async function sendPage(
  socket: WebSocket,
  reader: NewEventReader,
  subscription: Subscription,
): Promise<boolean> {
  const { events, after, more } = await reader.read(subscription.after);
  if (events.length > 0) await subscription.readmit();
  for (const { index, text } of events) {
    if (socket.readyState !== socket.OPEN) return false;
    if (text !== null) socket.send(text);
    subscription.after = index;
    if (isFull(socket)) return true;
  }
  subscription.after = after;
  return more;
}

const isFull = (socket: WebSocket): boolean => socket.bufferedAmount > limits.streamBufferedBytes;

const lookEveryMs = 20;

/** Waits until the client has read everything. False where the client stalls. */
function drained(socket: WebSocket, stallSeconds: number): Promise<boolean> {
  const deadline = performance.now() + stallSeconds * 1000;
  return new Promise((resolve) => {
    const look = (): void => {
      if (socket.bufferedAmount === 0 || socket.readyState !== socket.OPEN) resolve(true);
      else if (performance.now() > deadline) resolve(false);
      else setTimeout(look, lookEveryMs);
    };
    look();
  });
}

/** Closes for good where a request would be refused too; otherwise the client may reconnect. */
function end(socket: WebSocket, error: unknown, { log }: Services): void {
  const { status } = asGovError(error);
  if (status >= 500) {
    log.error({ err: error }, 'a stream ended');
    socket.close(internalError, 'internal error');
  } else if (status === 429) socket.close(tryAgainLater, 'too many requests of this address');
  else socket.close(policyViolation, 'the credential is no longer valid');
}

/**
 * Pings the client, closes a socket that does not answer, and checks the credential while no events are sent.
 */
function keepAlive(socket: WebSocket, lookAgain: () => void): () => void {
  let alive = true;
  socket.on('pong', () => (alive = true));
  const ping = setInterval(() => {
    if (!alive) return socket.terminate();
    alive = false;
    socket.ping();
  }, limits.streamPingSeconds * 1000);
  const check = setInterval(lookAgain, limits.credentialCacheSeconds * 1000);
  ping.unref();
  check.unref();
  return () => {
    clearInterval(ping);
    clearInterval(check);
  };
}

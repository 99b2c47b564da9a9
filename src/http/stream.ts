/**
 * Live events over a WebSocket (contract O7, RFC 6455): `GET /events/stream?runId=&eventType=&after=`, one
 * JSON event per message. A reader is fed from the store, page by page, only as fast as it reads: nothing is
 * queued for it beyond one page, and one that stands still is closed with 1013 and resumes by `after`. Each page is
 * admitted as a request of its own would be. Proven by `test/http/stream.engines.test.ts` and `test/http/admit/revoked.test.ts`.
 */
import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import { streams } from '../contract/events.ts';
import { limits } from '../contract/limits.ts';
import { GovError } from '../contract/problems.ts';
import type { Caller } from '../service/call/handler.ts';
import type { JsonSchema } from '../service/call/explain.ts';
import { EventTails, type NewEventReader } from '../service/events/arrivals.ts';
import type { Services } from '../service/dependencies.ts';
import { Denied, type Place } from '../service/access/shown.ts';
import { apiVersion } from './answer/write.ts';
import { requireScope } from './admit/request.ts';
import { authenticate, spend, type Gate } from './admit/gate.ts';
import { checkEnvelope } from './admit/negotiate.ts';
import { problemMediaType, renderProblem } from './answer/problem.ts';
import { requestId } from './admit/request-id.ts';
import { basePaths } from './route.ts';
import { asGovError } from './execute.ts';
import { readQuery } from './text.ts';

// a schema of the contract is JSON Schema
const streamQuery = streams.streamEvents.query as unknown as JsonSchema;

const environments = ['production', 'sandbox'] as const;
const streamPath = (environment: Place['environment']): string => `${basePaths[environment]}/events/stream`;

/** Whether a request asks for a stream; every other upgrade is ignored (RFC 9110 section 7.8). */
export function asksForStream({ method, url = '', headers }: IncomingMessage): boolean {
  if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return false;
  return environments.some((environment) => splitUrl(url)[0] === streamPath(environment));
}

interface StreamOptions {
  readonly services: Services;
  /** Null on a plane. */
  readonly gate: Gate | null;
  readonly problemBase: () => string;
  /** How long a reader may stand still; `limits.streamStallSeconds` where absent. */
  readonly stallSeconds?: number | undefined;
}

interface Subscription {
  readonly caller: Caller;
  /** As of a request that is made now: rejects once the credential has ended or lost the scope. */
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

  /** Ends every stream; clients reconnect elsewhere or later. */
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
    sockets.handleUpgrade(request, socket, head, (client) => {
      this.#open.set(client, caller);
      client.on('close', () => this.#open.delete(client));
      feed(client, subscription, { ...this.#options, tails: this.#tails });
    });
  }

  async #admit(request: IncomingMessage): Promise<Subscription> {
    const { services, gate } = this.#options;
    const { credentials } = services;
    checkEnvelope(request);
    const [path = '', query = ''] = splitUrl(request.url ?? '');
    const environment = environments.find((name) => path === streamPath(name));
    if (environment === undefined) throw new GovError('NOT_FOUND', 'no stream has this path');
    const asked = { credentials, gate, place: { environment, needsProject: true }, rate: 'default' } as const;
    const identify = () => authenticate({ raw: request, lines: null }, asked);
    const caller = await identify();
    if (gate !== null) spend({ raw: request, lines: null }, gate.rates.spend('default', caller.id));
    requireScope(caller, 'events:read');
    const readmit = async () => requireScope(await identify(), 'events:read');
    const { after, ...filter } = readQuery(streamQuery, query) as { after?: number };
    const { size } = await services.store.head(caller.project.projectId, 'audit');
    return { caller, readmit, filter, after: after ?? size - 1 };
  }

  /** OVERLOADED, or RATE_LIMITED where one key or one organization of a service has too many. */
  #requireRoom({ id, project }: Caller): void {
    if (this.#open.size >= limits.streams) {
      throw new GovError('OVERLOADED', `expected at most ${limits.streams} streams at once`);
    }
    const open = [...this.#open.values()];
    refuseMore(
      open.filter((each) => each.id === id),
      { most: limits.streamsPerKey, of: 'one key' },
    );
    // a plane is one organization's
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
    if (known instanceof Denied) {
      services.denied?.(known.caller, { operation: 'streamEvents', code: known.code });
    }
    const { status, body, headers } = renderProblem(known, {
      requestId: requestId(request),
      base: this.#options.problemBase(),
    });
    const lines = Object.entries({
      ...headers,
      'content-type': problemMediaType,
      'gov-api-version': apiVersion,
    });
    socket.end(
      [
        `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
        ...lines.map(([name, value]) => `${name}: ${value}`),
        `content-length: ${Buffer.byteLength(body)}`,
        'connection: close',
        '',
        body,
      ].join('\r\n'),
    );
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

/** Sends events from the store as they come until the socket closes. */
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
    // the page is let go of by now: nothing but what the socket has is held while it is waited for
    if (isFull(socket) && !(await drained(socket, stallSeconds))) {
      socket.close(tryAgainLater, 'reading too slowly; resume after the last sequence');
      // the frame stands behind what is not read: the socket does not wait for that for ever
      setTimeout(() => socket.terminate(), limits.streamCloseSeconds * 1000).unref();
      return;
    }
  }
}

/** Whether there is more to be sent at once. What the socket has no room for is read again. */
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

/** Waits until the reader caught up; false where it did not in time. */
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

/** For good where a request would be refused now; else the reader may come back. */
function end(socket: WebSocket, error: unknown, { log }: Services): void {
  const { status } = asGovError(error);
  if (status >= 500) {
    log.error({ err: error }, 'a stream ended');
    socket.close(internalError, 'internal error');
  } else if (status === 429) socket.close(tryAgainLater, 'too many requests of this address');
  else socket.close(policyViolation, 'the credential is no longer valid');
}

/** Pings, and ends a socket that does not answer; looks at the credential where nothing is sent. */
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

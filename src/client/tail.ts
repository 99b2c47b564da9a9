/**
 * Live events over a WebSocket (contract O7, RFC 6455). After any disconnect it resumes after the last sequence, or where
 * the first connection began. A reader
 * slower than the stream stops reading the socket; the service then closes it with 1013, and the next connection
 * continues at the reader's position. Tested by `test/client/tail.test.ts`.
 */
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import type { AuditEvent } from '../contract/events.ts';
import { limits } from '../contract/limits.ts';
import { streamAfterHeader } from '../contract/stream.ts';
import { credentialHeaders } from './create.ts';
import type { Client } from './create.ts';
import { apiError } from './answers.ts';
import { type GovApiError, GovNetworkError } from './errors.ts';
import { isTransient, pause, retryDelayMs } from './retry.ts';

export interface TailOptions {
  readonly runId?: string | undefined;
  readonly eventType?: string | undefined;
  /** Sequence to begin after; without it, the stream begins with the next event. */
  readonly after?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly observe?: (note: TailNote) => void;
}
export type TailNote =
  | { readonly kind: 'connected' }
  | { readonly kind: 'reconnecting'; readonly delayMs: number; readonly reason: string };

/** The service closes with this code to refuse the client for good (RFC 6455 section 7.4.1). */
const policyViolation = 1008;
const pingEveryMs = 30_000;
const steadyMs = 5000;
/** Events to read ahead of the consumer before the socket pauses. */
const readAhead = 256;

/**
 * Yields events in the order of recording, each once. Ends only by the signal (throws its reason), by a refusal
 * (`GovApiError`) or by `return()`.
 */
export async function* tailEvents(
  client: Client,
  options: TailOptions,
): AsyncGenerator<AuditEvent, never, undefined> {
  let { after } = options;
  for (let attempt = 0; ; attempt += 1) {
    let reason = 'the service closed the connection';
    const startedAt = performance.now();
    const stream = new EventStream();
    try {
      const start = await stream.open(client, { ...options, after });
      after ??= start;
      options.observe?.({ kind: 'connected' });
      for await (const event of stream.events()) {
        if (after !== undefined && event.sequence <= after) continue;
        after = event.sequence;
        yield event;
      }
    } catch (failure) {
      options.signal?.throwIfAborted();
      if (!isTransient(failure)) throw failure;
      reason = failure instanceof Error ? failure.message : String(failure);
    } finally {
      stream.close();
    }
    // a connection that lasted a while resets the backoff
    if (performance.now() - startedAt > steadyMs) attempt = 0;
    const unreachable = new GovNetworkError('ECONNRESET', reason, { retryable: true });
    const delayMs = retryDelayMs(unreachable, attempt, Math.random()) ?? limits.clientBackoffMaxMs;
    options.observe?.({ kind: 'reconnecting', delayMs, reason });
    await pause(delayMs, options.signal);
  }
}

/** One connection. Messages wait here for the consumer. */
class EventStream {
  readonly #waiting: AuditEvent[] = [];
  #socket: WebSocket | undefined;
  #ended = false;
  #failure: unknown;
  #wake: () => void = () => {};
  #pinger: NodeJS.Timeout | undefined;
  #release: () => void = () => {};

  /** Returns the sequence that the stream begins after; undefined from a service that does not say it. */
  async open(client: Client, options: TailOptions): Promise<number | undefined> {
    options.signal?.throwIfAborted();
    const { WebSocket: Socket } = await import('ws');
    const { connection, options: settings } = client;
    const url = addressOf(client, options);
    settings.observe?.({ kind: 'request', method: 'GET', url, bytes: 0 });
    const socket = new Socket(url, {
      headers: credentialHeaders(settings),
      agent: await connection.agent(),
      maxPayload: limits.bodyBytes,
      handshakeTimeout: settings.timeoutMs ?? limits.clientTimeoutSeconds * 1000,
      perMessageDeflate: false,
      followRedirects: false,
    });
    this.#socket = socket;
    const stop = (): void => this.#end(options.signal?.reason);
    options.signal?.addEventListener('abort', stop, { once: true });
    this.#release = () => options.signal?.removeEventListener('abort', stop);
    // before `open`: the first message may arrive in the packet that completes the handshake
    this.#listen(socket);
    let start: string | string[] | undefined;
    socket.once('upgrade', ({ headers }) => (start = headers[streamAfterHeader]));
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('unexpected-response', (_request, answer: IncomingMessage) => {
        refusal(answer).then(reject, reject);
      });
      socket.on('error', (cause) => {
        const failure = connection.explain(cause);
        reject(failure);
        this.#end(failure);
      });
      options.signal?.addEventListener('abort', () => reject(options.signal?.reason), { once: true });
    });
    return typeof start === 'string' && /^[0-9]{1,15}$/.test(start) ? Number(start) : undefined;
  }

  #listen(socket: WebSocket): void {
    socket.on('message', (data, isBinary) => this.#take(String(data), isBinary));
    socket.on('close', (code) => {
      const refused = code === policyViolation;
      this.#end(
        refused ? new GovNetworkError('REFUSED', 'the service ended the stream permanently') : undefined,
      );
    });
    let alive = true;
    socket.on('pong', () => (alive = true));
    this.#pinger = setInterval(() => {
      if (!alive && !socket.isPaused) {
        socket.terminate();
        return;
      }
      alive = false;
      socket.ping();
    }, pingEveryMs);
  }

  #take(text: string, isBinary: boolean): void {
    try {
      if (isBinary) throw new SyntaxError('expected a text message');
      // remote data of the service that the caller chose; this code relies only on `sequence`
      const event = JSON.parse(text) as AuditEvent;
      if (!Number.isSafeInteger(event.sequence)) throw new SyntaxError('expected a sequence');
      this.#waiting.push(event);
    } catch (cause) {
      this.#end(new GovNetworkError('INVALID_RESPONSE', 'expected one event per message', { cause }));
    }
    if (this.#waiting.length >= readAhead) this.#socket?.pause();
    this.#wake();
  }

  #end(failure: unknown): void {
    this.#failure ??= failure;
    this.#ended = true;
    this.#wake();
  }

  async *events(): AsyncGenerator<AuditEvent, void, undefined> {
    for (;;) {
      const event = this.#waiting.shift();
      if (event !== undefined) {
        if (this.#waiting.length === 0) this.#socket?.resume();
        yield event;
        continue;
      }
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#ended) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  close(): void {
    clearInterval(this.#pinger);
    this.#release();
    this.#socket?.terminate();
  }
}

function addressOf({ connection }: Client, options: TailOptions): string {
  const url = new URL(connection.base);
  url.protocol = connection.secure ? 'wss:' : 'ws:';
  url.pathname = connection.fullPath('/events/stream');
  for (const name of ['runId', 'eventType', 'after'] as const) {
    if (options[name] !== undefined) url.searchParams.set(name, String(options[name]));
  }
  return url.href;
}

async function refusal(answer: IncomingMessage): Promise<GovApiError> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    if (chunks.reduce((size, each) => size + each.length, 0) > limits.bodyBytes) break;
  }
  let problem: unknown;
  try {
    problem = JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    // not a problem body: the status says enough
    problem = {};
  }
  const headers = Object.fromEntries(
    Object.entries(answer.headers).map(([name, value]) => [name, String(value)]),
  );
  return apiError(
    answer.statusCode ?? 0,
    typeof problem === 'object' && problem !== null ? { ...problem } : {},
    headers,
  );
}

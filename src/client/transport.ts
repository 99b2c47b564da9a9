/**
 * One HTTP/1.1 exchange over node:http or node:https; fetch would add 30 ms to a command. It has kept-alive connections,
 * one time limit over connect, upload and download, a limit on the response, proxies and extra authorities. It does not
 * follow redirects: the credential goes to the configured host only.
 * Tested by `test/client/transport.test.ts` against a real server.
 */
import type { Agent, AgentOptions, ClientRequest, IncomingMessage } from 'node:http';
import type { AgentOptions as SecureAgentOptions } from 'node:https';
import { GovNetworkError, GovTimeoutError, isUnknownAuthority, networkError } from './errors.ts';
import { proxyFor, proxyName } from './proxy.ts';
import type { Environment } from './proxy.ts';

export interface ConnectionOptions {
  readonly baseUrl: string;
  /** Replaces the built-in agent, which then handles proxies and `ca` itself. */
  readonly agent?: Agent;
  /** PEM texts of authorities to trust in addition to the default ones. */
  readonly ca?: readonly string[];
  /** PEM texts of the client's certificate and key, for mutual TLS. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined;
  /** Variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
  readonly env?: Environment;
}

export interface Exchange {
  readonly method: string;
  /** Path and query below the base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal | undefined;
}

/** A response. Header names are in lower case; `bytes` is the whole body, at most `maxBytes`. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

/** A response whose body is still arriving. */
export interface OpenReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The body as it arrives, read no faster than the consumer takes it. Throws `GovNetworkError` if the connection breaks
   * or stays silent for `timeoutMs` while the consumer waits. Leaving the loop closes the connection.
   */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Owns the sockets to one base URL. */
export class Connection {
  readonly base: URL;
  readonly proxy: string | undefined;
  readonly #options: ConnectionOptions;
  #agent: Agent | undefined;
  #systemAuthorities = false;

  constructor(options: ConnectionOptions) {
    if (!URL.canParse(options.baseUrl) || !/^https?:\/\//i.test(options.baseUrl)) {
      throw new TypeError('expected a base URL such as http://127.0.0.1:7460/api/v1');
    }
    this.base = new URL(options.baseUrl);
    this.#options = options;
    this.#agent = options.agent;
    this.proxy = options.agent === undefined ? proxyFor(this.base, options.env ?? process.env) : undefined;
  }

  get secure(): boolean {
    return this.base.protocol === 'https:';
  }

  /** Returns base path and `path`, with one slash between them. */
  fullPath(path: string): string {
    return this.base.pathname.replace(/\/+$/, '') + path;
  }

  /** The agent for other protocols to the same host, such as a WebSocket. */
  async agent(): Promise<Agent> {
    this.#agent ??= await this.#open();
    return this.#agent;
  }

  /** Buffers the response. Errors: `GovNetworkError`, or the signal's reason. Cost: one round trip. */
  async exchange(request: Exchange): Promise<Reply> {
    return this.#trusting(request, () => this.#once(request, collected));
  }

  /** The same for a body of any length. `timeoutMs` applies to its head, then between two pieces of the body. */
  async stream(request: Omit<Exchange, 'maxBytes'>): Promise<OpenReply> {
    return this.#trusting(request, () =>
      this.#once({ ...request, maxBytes: Infinity }, (incoming) =>
        Promise.resolve(this.#opened(incoming, request)),
      ),
    );
  }

  #opened(
    incoming: IncomingMessage,
    { timeoutMs, signal }: Pick<Exchange, 'timeoutMs' | 'signal'>,
  ): OpenReply {
    const explained = (cause: unknown): unknown => {
      if (cause instanceof GovNetworkError) return cause;
      return signal?.aborted === true ? signal.reason : this.explain(cause);
    };
    const chunks = chunksOf(incoming, { timeoutMs, place: this.base.origin, explained });
    return { status: incoming.statusCode ?? 0, headers: flat(incoming), chunks };
  }

  async #trusting<Answer>(
    request: { signal: AbortSignal | undefined },
    send: () => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await send();
    } catch (cause) {
      if (cause instanceof GovNetworkError) throw cause;
      if (request.signal?.aborted === true) throw request.signal.reason;
      if (isUnknownAuthority(cause) && !this.#systemAuthorities && this.#options.agent === undefined) {
        // the operating system may know the authority; loading its list takes 30 ms, so only after a failure
        this.#systemAuthorities = true;
        this.close();
        return this.#trusting(request, send);
      }
      throw this.explain(cause);
    }
  }

  /** Returns the error with its address and proxy. */
  explain(cause: unknown): GovNetworkError {
    return networkError(
      cause,
      this.base.origin,
      this.proxy === undefined ? undefined : proxyName(this.proxy),
    );
  }

  /** Closes idle and busy sockets. A later exchange opens new ones. */
  close(): void {
    if (this.#options.agent !== undefined) return;
    this.#agent?.destroy();
    this.#agent = undefined;
  }

  async #open(): Promise<Agent> {
    const proxied =
      this.proxy === undefined ? {} : { proxyEnv: { HTTP_PROXY: this.proxy, HTTPS_PROXY: this.proxy } };
    const options: AgentOptions = { keepAlive: true, ...proxied };
    if (!this.secure) return new (await import('node:http')).Agent(options);
    const extra = this.#options.ca ?? [];
    const authorities: Pick<SecureAgentOptions, 'ca' | 'cert' | 'key'> = { ...this.#options.certificate };
    if (extra.length > 0 || this.#systemAuthorities) {
      const { getCACertificates } = await import('node:tls');
      const system = this.#systemAuthorities ? getCACertificates('system') : [];
      authorities.ca = [...getCACertificates('default'), ...system, ...extra];
    }
    return new (await import('node:https')).Agent({ ...options, ...authorities });
  }

  async #once<Answer>(
    request: Exchange,
    take: (incoming: IncomingMessage, maxBytes: number) => Promise<Answer>,
  ): Promise<Answer> {
    request.signal?.throwIfAborted();
    const agent = await this.agent();
    const { request: open } = this.secure ? await import('node:https') : await import('node:http');
    return new Promise((resolve, reject) => {
      const outgoing = open({
        protocol: this.base.protocol,
        hostname: this.base.hostname.replace(/^\[|\]$/g, ''),
        port: this.base.port,
        method: request.method,
        path: this.fullPath(request.path),
        headers: { ...request.headers, ...(request.body ? { 'content-length': request.body.length } : {}) },
        agent,
        ...(request.signal === undefined ? {} : { signal: request.signal }),
      });
      const settled = guard(outgoing, request.timeoutMs, this.base.origin);
      outgoing.once('error', (cause) => settled(() => reject(cause)));
      outgoing.once('response', (incoming) => {
        take(incoming, request.maxBytes).then(
          (answer) => settled(() => resolve(answer)),
          (cause: unknown) => settled(() => reject(cause)),
        );
      });
      outgoing.end(request.body);
    });
  }
}

const timedOut = (place: string, timeoutMs: number): GovNetworkError =>
  new GovTimeoutError(`${place} did not answer within ${timeoutMs / 1000} s`, {
    hint: 'raise --timeout, or check the load of the service',
  });

/** Aborts the request at its time limit. The returned function stops the clock and settles. */
function guard(outgoing: ClientRequest, timeoutMs: number, place: string): (settle: () => void) => void {
  const timer = setTimeout(() => outgoing.destroy(timedOut(place, timeoutMs)), timeoutMs);
  return (settle) => {
    clearTimeout(timer);
    settle();
  };
}

/** Yields the body. Pauses of the consumer do not count towards the time limit. */
async function* chunksOf(
  incoming: IncomingMessage,
  of: { readonly timeoutMs: number; readonly place: string; readonly explained: (cause: unknown) => unknown },
): AsyncGenerator<Uint8Array, void, undefined> {
  const { timeoutMs, place, explained } = of;
  const chunks = (incoming as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const timer = setTimeout(() => incoming.destroy(timedOut(place, timeoutMs)), timeoutMs);
      const { done, value } = await chunks.next().finally(() => clearTimeout(timer));
      if (done === true) return;
      yield value;
    }
  } catch (cause) {
    throw explained(cause);
  } finally {
    incoming.destroy();
  }
}

async function collected(incoming: IncomingMessage, maxBytes: number): Promise<Reply> {
  const bytes = await collect(incoming, maxBytes);
  return { status: incoming.statusCode ?? 0, headers: flat(incoming), bytes };
}

async function collect(incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) {
      incoming.destroy();
      throw new GovNetworkError(
        'RESPONSE_TOO_LARGE',
        `expected a response of at most ${maxBytes} bytes, got more`,
        {
          hint: 'ask for less, or for one page at a time',
        },
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

const flat = (incoming: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );

/**
 * One HTTP exchange over fetch, for runtimes without Node: the same time limits, bounds and errors as `../transport.ts`,
 * in whose place `scripts/library.ts` puts it. It follows no redirect. Tested by `test/client/web/edge.test.ts`.
 */
import { GovNetworkError, GovTimeoutError } from '../errors.ts';
import { anySignal } from '../signals.ts';
import type {
  Connection as NodeConnection,
  ConnectionOptions,
  Exchange,
  OpenReply,
  Reply,
} from '../transport.ts';

type Surface = Pick<
  NodeConnection,
  'base' | 'proxy' | 'secure' | 'fullPath' | 'exchange' | 'stream' | 'explain' | 'close'
>;

const nodeOptions = ['agent', 'ca', 'certificate'] as const;

export class Connection implements Surface {
  readonly base: URL;
  readonly proxy = undefined;

  constructor(options: ConnectionOptions) {
    if (!URL.canParse(options.baseUrl) || !/^https?:\/\//i.test(options.baseUrl)) {
      throw new TypeError('expected a base URL such as http://127.0.0.1:7460/api/v1');
    }
    const given = nodeOptions.find((name) => options[name] !== undefined);
    if (given !== undefined) throw new TypeError(`expected Node for the option ${given}`);
    this.base = new URL(options.baseUrl);
  }

  get secure(): boolean {
    return this.base.protocol === 'https:';
  }

  fullPath(path: string): string {
    return this.base.pathname.replace(/\/+$/, '') + path;
  }

  async exchange(request: Exchange): Promise<Reply> {
    const limit = new Limit(request, this);
    try {
      const response = await this.#send(request, limit.signal);
      const chunks: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of bodyOf(response)) {
        size += chunk.length;
        if (size > request.maxBytes) throw tooLarge(request.maxBytes);
        chunks.push(chunk);
      }
      return { status: response.status, headers: headersOf(response), bytes: Buffer.concat(chunks) };
    } catch (cause) {
      throw limit.explain(cause);
    } finally {
      limit.end();
    }
  }

  async stream(request: Omit<Exchange, 'maxBytes'>): Promise<OpenReply> {
    const limit = new Limit(request, this);
    try {
      const response = await this.#send(request, limit.signal);
      return { status: response.status, headers: headersOf(response), chunks: limited(response, limit) };
    } catch (cause) {
      limit.end();
      throw limit.explain(cause);
    }
  }

  #send(request: Omit<Exchange, 'maxBytes'>, signal: AbortSignal): Promise<Response> {
    return fetch(this.base.origin + this.fullPath(request.path), {
      method: request.method,
      headers: request.headers,
      redirect: 'manual',
      signal,
      ...(request.body === undefined ? {} : { body: Uint8Array.from(request.body) }),
    });
  }

  explain(cause: unknown): GovNetworkError {
    if (cause instanceof GovNetworkError) return cause;
    const what = cause instanceof Error ? cause.message : 'the connection failed';
    const message = `could not reach ${this.base.origin}: ${what}`;
    return new GovNetworkError('UNREACHABLE', message, { cause, retryable: true });
  }

  /** The runtime owns the sockets. */
  close(): void {}
}

/** The time limit of one exchange, joined with the signal of the caller. */
class Limit {
  readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #request: Pick<Exchange, 'timeoutMs' | 'signal'>;
  readonly #connection: Connection;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(request: Pick<Exchange, 'timeoutMs' | 'signal'>, connection: Connection) {
    request.signal?.throwIfAborted();
    this.#request = request;
    this.#connection = connection;
    const own = this.#stop.signal;
    this.signal = request.signal === undefined ? own : anySignal([own, request.signal]);
    this.restart();
  }

  restart(): void {
    const { timeoutMs } = this.#request;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const place = this.#connection.base.origin;
      this.#stop.abort(new GovTimeoutError(`${place} did not answer within ${timeoutMs / 1000} s`));
    }, timeoutMs);
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  explain(cause: unknown): unknown {
    if (this.#request.signal?.aborted === true) return this.#request.signal.reason;
    if (this.#stop.signal.aborted) return this.#stop.signal.reason;
    return this.#connection.explain(cause);
  }
}

async function* limited(response: Response, limit: Limit): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    limit.restart();
    for await (const chunk of bodyOf(response)) {
      limit.end(); // a pause of the consumer does not count
      yield chunk;
      limit.restart();
    }
  } catch (cause) {
    throw limit.explain(cause);
  } finally {
    limit.end();
  }
}

/** Yields the body. Leaving the loop cancels the response. */
async function* bodyOf({ body }: Response): AsyncGenerator<Uint8Array, void, undefined> {
  if (body === null) return;
  // not `for await`: the streams of Safari are not iterable
  const reader = body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

const headersOf = (response: Response): Record<string, string> => Object.fromEntries(response.headers);

const tooLarge = (most: number): GovNetworkError =>
  new GovNetworkError('RESPONSE_TOO_LARGE', `expected a response of at most ${most} bytes, got more`, {
    hint: 'ask for less, or for one page at a time',
  });

/**
 * `fetch` over the client's own connections. It reaches the identity provider as the client reaches the service: with
 * the same proxies, authorities and time limits. It does not follow redirects.
 * Tested by `test/cli/auth/device.long.test.ts`.
 */
import { Connection } from '../../client/transport.ts';
import { limits } from '../../contract/limits.ts';
import type { Io } from '../terminal/io.ts';

export interface WebOptions {
  readonly env: Io['env'];
  /** PEM texts of authorities to trust in addition to the default ones. */
  readonly ca: readonly string[];
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal;
}

/** The body is a text or a form. */
export interface WebRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams | undefined;
}

/** Owns its sockets; `close` ends them. */
export class Web {
  readonly #options: WebOptions;
  readonly #connections = new Map<string, Connection>();

  constructor(options: WebOptions) {
    this.#options = options;
  }

  /** Reads at most `limits.bodyBytes`. Errors: `GovNetworkError`, or the signal's reason. */
  async fetch(address: string, request: WebRequest = {}): Promise<Response> {
    const { env, ca, timeoutMs, signal } = this.#options;
    const url = new URL(address);
    const connection = this.#connections.get(url.origin) ?? new Connection({ baseUrl: url.origin, env, ca });
    this.#connections.set(url.origin, connection);
    const { method = 'GET', headers = {}, body } = request;
    const {
      status,
      headers: answered,
      bytes,
    } = await connection.exchange({
      method,
      path: url.pathname + url.search,
      headers,
      body: body === undefined ? undefined : Buffer.from(String(body)),
      timeoutMs: timeoutMs ?? limits.clientTimeoutSeconds * 1000,
      maxBytes: limits.bodyBytes,
      signal,
    });
    // a copy with a buffer of its own, as the type of Response requires
    return new Response(bytes.length === 0 ? null : new Uint8Array(bytes), { status, headers: answered });
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
  }
}

/**
 * `fetch` to a provider that the operator names: the identity provider, the payment provider. It reaches them as the
 * command line reaches the service: through HTTPS_PROXY, HTTP_PROXY and NO_PROXY, with the authorities of the system.
 * It follows no redirect and bounds time and body. Webhooks go another way (`src/host/outbound/post.ts`), which uses no
 * proxy. Proven by `test/host/identity/issuer-keys.test.ts`.
 */
import { Connection } from '../../client/transport.ts';
import type { Environment } from '../../client/proxy.ts';
import { version } from '../../client/version.ts';

export interface ProviderRequest {
  readonly method?: string | undefined;
  readonly headers?: Headers | undefined;
  /** A text or a form. */
  readonly body?: string | URLSearchParams | undefined;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
  readonly env?: Environment;
}

/** Throws an `Error` that names address and proxy where there is no response, or a redirect. */
export async function providerFetch(
  address: string,
  { method = 'GET', headers = new Headers(), body, env, ...bounds }: ProviderRequest,
): Promise<Response> {
  const { origin, pathname, search } = new URL(address);
  const connection = new Connection({ baseUrl: origin, ...(env === undefined ? {} : { env }) });
  try {
    const answer = await connection.exchange({
      method,
      path: pathname + search,
      headers: { 'user-agent': `gov/${version}`, ...Object.fromEntries(headers) },
      body: body === undefined ? undefined : Buffer.from(String(body)),
      signal: undefined,
      ...bounds,
    });
    if (answer.status >= 300 && answer.status < 400)
      throw new Error(`${address}: expected no redirect, got status ${answer.status}`);
    // a copy with a buffer of its own, as the type of Response requires
    const bytes = answer.bytes.length === 0 ? null : new Uint8Array(answer.bytes);
    return new Response(bytes, { status: answer.status, headers: answer.headers });
  } finally {
    connection.close();
  }
}

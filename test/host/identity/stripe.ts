/**
 * A local server that answers `POST /v1/billing_portal/sessions` as Stripe's published API does: form-encoded body,
 * Basic or Bearer key, `Stripe-Version`, `Request-Id`, the object `billing_portal.session`, error objects with their
 * statuses. Source: https://docs.stripe.com/api/customer_portal/sessions and /api/errors, SDK 23.1.0.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface StripeServer {
  readonly url: string;
  readonly asked: Asked[];
  /** Answers before the usual one, each used once. */
  readonly next: ((response: ServerResponse) => void)[];
  stop(): Promise<void>;
}

export const stripeKey = 'sk_test_51NotAKeyOfAnybody000000000000';
export const customers: readonly string[] = ['cus_NffrFeUfNV2Hib'];

export async function startStripe(): Promise<StripeServer> {
  const asked: Asked[] = [];
  const next: StripeServer['next'] = [];
  const server = createServer((request, response) => {
    void serve(request, response);
  });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = request;
    const one = { method, path: url, headers, body: await read(request) };
    asked.push(one);
    const other = next.shift();
    if (other === undefined) answer(one, response);
    else other(response);
  };
  const { port } = await listening(server);
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    next,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** An error object with its status. */
export function refusal(status: number, error: Record<string, unknown>): (response: ServerResponse) => void {
  return (response) => send(response, status, { error });
}

function answer({ method, path, headers, body }: Asked, response: ServerResponse): void {
  if (method !== 'POST' || path !== '/v1/billing_portal/sessions') {
    const message = `Unrecognized request URL (${method}: ${path}).`;
    return send(response, 404, { error: { type: 'invalid_request_error', message } });
  }
  if (headers['authorization'] !== `Bearer ${stripeKey}`) {
    const message = 'Invalid API Key provided: sk_test_*****************************0000';
    return send(response, 401, { error: { type: 'invalid_request_error', message } });
  }
  const form = new URLSearchParams(body);
  const customer = form.get('customer') ?? '';
  if (headers['content-type'] !== 'application/x-www-form-urlencoded' || !customers.includes(customer)) {
    const message = `No such customer: '${customer}'`;
    const error = { type: 'invalid_request_error', code: 'resource_missing', param: 'customer', message };
    return send(response, 400, { error });
  }
  send(response, 200, {
    id: 'bps_1MrSjzLkdIwHu7ixex0IvU9b',
    object: 'billing_portal.session',
    configuration: 'bpc_1MAhNDLkdIwHu7ixckACO1Jq',
    created: 1_680_210_639,
    customer,
    customer_account: null,
    flow: null,
    livemode: false,
    locale: null,
    on_behalf_of: null,
    return_url: form.get('return_url'),
    url: 'https://billing.stripe.com/p/session/test_YWNjdF8xTTJKVGtMa2RJd0h1N2l4LF9OY',
  });
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const headers = {
    'content-type': 'application/json',
    'request-id': 'req_LQ0sZ3fnyWGzVx',
    'stripe-version': '2026-10-28.endive',
  };
  response.writeHead(status, headers);
  response.end(JSON.stringify(body, null, 2));
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

const listening = (server: Server): Promise<AddressInfo> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server.address() as AddressInfo));
  });

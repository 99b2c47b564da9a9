/**
 * The customer portal of Stripe: `POST /v1/billing_portal/sessions` through Stripe's own SDK, which sends an
 * `Idempotency-Key` and repeats failed requests. The request contains only customer, return URL and key. This
 * module removes the SDK's data about the machine. Proven by `test/host/identity/portal.test.ts` against a
 * local server that follows the published API.
 */
import { version } from '../../client/version.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { BillingPortal } from '../../service/hosting/parts.ts';
import type { Log } from '../../service/call/log.ts';
import { providerFetch } from './provider-fetch.ts';
import { urlFault } from './url-fault.ts';

export interface PortalConfig {
  readonly stripeKey: string;
  /** Base URL of the API. Null: Stripe's own. */
  readonly baseUrl: string | null;
  /** Timeout of one attempt. Absent: `limits.portalTimeoutSeconds`. */
  readonly timeoutMs?: number;
}

const providerUrl = 'https://api.stripe.com';

/**
 * Creates the portal without a request. VALIDATION_ERROR for an invalid base URL, or one that would send the
 * key in clear.
 */
export function createPortal(config: PortalConfig, log: Log): BillingPortal {
  const base = checkedBase(config.baseUrl ?? providerUrl);
  const host = new URL(base).host;
  let client: ReturnType<typeof connect> | undefined;
  return {
    async open(customerId, returnUrl) {
      const { stripe, errors } = await (client ??= connect(config, base));
      try {
        const session = await stripe.billingPortal.sessions.create({
          customer: customerId,
          return_url: returnUrl,
        });
        return checkedSession(session, base);
      } catch (error) {
        throw asProblem(error, { errors, log, host });
      }
    },
  };
}

function checkedBase(text: string): string {
  const fault = urlFault(text) ?? (new URL(text).pathname === '/' ? null : `expected no path, got ${text}`);
  if (fault === null) return text;
  throw new GovError('VALIDATION_ERROR', `service.json /billing/baseUrl: ${fault}`);
}

/** Loads the SDK on first use, because few people open the portal. */
async function connect({ stripeKey, timeoutMs }: PortalConfig, base: string) {
  const { default: Stripe } = await import('stripe');
  const { hostname, port, protocol } = new URL(base);
  const isPlain = protocol === 'http:';
  const stripe = new Stripe(stripeKey, {
    host: hostname,
    port: port === '' ? (isPlain ? 80 : 443) : Number(port),
    protocol: isPlain ? 'http' : 'https',
    maxNetworkRetries: limits.portalRetries,
    timeout: timeoutMs ?? limits.portalTimeoutSeconds * 1000,
    telemetry: false,
    httpClient: Stripe.createFetchHttpClient(plainFetch),
  });
  return { stripe, errors: Stripe.errors };
}

/** Response headers that the SDK reads. */
const readHeaders = ['content-type', 'request-id', 'stripe-should-retry'];

/** A `fetch` that follows no redirect, bounds the response, and sends no data about the machine. */
async function plainFetch(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.delete('x-stripe-client-user-agent');
  headers.set('user-agent', `gov/${version}`);
  const response = await providerFetch(String(url), {
    method: init.method,
    headers,
    body: typeof init.body === 'string' ? init.body : undefined,
    signal: init.signal ?? undefined,
    timeoutMs: limits.portalTimeoutSeconds * 1000,
    maxBytes: limits.portalAnswerBytes,
  });
  const kept = readHeaders.flatMap((name): [string, string][] => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return new Response(await response.arrayBuffer(), { status: response.status, headers: kept });
}

/** Checks that the URL is an https page of the provider, since an attacker may answer in its place. */
function checkedSession({ url }: { readonly url: unknown }, base: string): string {
  const parsed = typeof url === 'string' ? URL.parse(url) : null;
  if (parsed !== null && (parsed.protocol === 'https:' || parsed.origin === new URL(base).origin)) {
    return parsed.href;
  }
  throw new Error('expected a session of the portal with an https URL');
}

interface PortalCall {
  readonly errors: Awaited<ReturnType<typeof connect>>['errors'];
  readonly log: Log;
  readonly host: string;
}

/** The error for the caller. It omits messages of the provider, which may contain a part of the key. */
function asProblem(error: unknown, { errors, log, host }: PortalCall): GovError {
  const { StripeError, StripeConnectionError, StripeRateLimitError, StripeInvalidRequestError } = errors;
  if (!(error instanceof StripeError)) {
    log.error({ host, reason: String(error) }, 'the payment provider sent an invalid response');
    return new GovError('INTERNAL', 'Internal error');
  }
  const { type, code, statusCode, requestId } = error;
  const fields = { host, type, code, statusCode, requestId };
  if (error instanceof StripeInvalidRequestError && code === 'resource_missing') {
    log.warn(fields, 'the payment provider does not know the customer of an organization');
    return new GovError('NOT_FOUND', 'the payment provider does not know the customer of the organization');
  }
  const isAway =
    error instanceof StripeConnectionError ||
    error instanceof StripeRateLimitError ||
    (statusCode ?? 500) >= 500;
  if (isAway) {
    log.warn(fields, 'the payment provider does not answer');
    return new GovError('UNAVAILABLE', 'the payment provider cannot be asked now; repeat later', {
      retryAfterSeconds: limits.overloadRetrySeconds,
    });
  }
  log.error(fields, 'the payment provider refuses our requests; check the key and its permissions');
  return new GovError('INTERNAL', 'Internal error');
}

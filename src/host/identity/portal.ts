/**
 * The customer portal of Stripe: `POST /v1/billing_portal/sessions` through the provider's own SDK, which sends an
 * `Idempotency-Key` and repeats what did not get through. Nothing is sent but customer, return URL and key: what the SDK
 * would tell about this machine is taken off. Proven by `test/host/identity/portal.test.ts` against a local server that answers
 * as the published API does.
 */
import { version } from '../../client/version.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { BillingPortal } from '../../service/hosting.ts';
import type { Log } from '../../service/call/log.ts';
import { boundedBody } from '../witness/fetched.ts';
import { urlFault } from './issuer-keys.ts';

export interface PortalConfig {
  readonly stripeKey: string;
  /** Of the API; null: the provider's own. */
  readonly baseUrl: string | null;
  /** Of one attempt; `limits.portalTimeoutSeconds` where absent. */
  readonly timeoutMs?: number;
}

const providerUrl = 'https://api.stripe.com';

/** VALIDATION_ERROR for a base URL that is none, or would send the key over a network in clear. Asks nothing yet. */
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

/** Loaded once it is needed: few ever open the portal. */
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

/** Answer headers that the SDK goes by. */
const readHeaders = ['content-type', 'request-id', 'stripe-should-retry'];

/** `fetch` that follows no redirect, reads no more than it must, and says of this machine what a browser would. */
async function plainFetch(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.delete('x-stripe-client-user-agent');
  headers.set('user-agent', `gov/${version}`);
  const response = await fetch(url, { ...init, headers, redirect: 'error' });
  const body = await boundedBody(response, limits.portalAnswerBytes);
  const kept = readHeaders.flatMap((name): [string, string][] => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return new Response(new Uint8Array(body), { status: response.status, headers: kept });
}

/** What a caller is sent to must be a page of the provider over https; whoever answers for it may be anybody. */
function checkedSession({ url }: { readonly url: unknown }, base: string): string {
  const parsed = typeof url === 'string' ? URL.parse(url) : null;
  if (parsed !== null && (parsed.protocol === 'https:' || parsed.origin === new URL(base).origin)) {
    return parsed.href;
  }
  throw new Error('expected a session of the portal with an https URL');
}

interface Asked {
  readonly errors: Awaited<ReturnType<typeof connect>>['errors'];
  readonly log: Log;
  readonly host: string;
}

/** What the caller hears. Messages of the provider, which may show part of the key, go nowhere. */
function asProblem(error: unknown, { errors, log, host }: Asked): GovError {
  const { StripeError, StripeConnectionError, StripeRateLimitError, StripeInvalidRequestError } = errors;
  if (!(error instanceof StripeError)) {
    log.error({ host, reason: String(error) }, 'the payment provider gave an answer that is of no use');
    return new GovError('INTERNAL', 'Internal error');
  }
  const { type, code, statusCode, requestId } = error;
  const fields = { host, type, code, statusCode, requestId };
  if (error instanceof StripeInvalidRequestError && code === 'resource_missing') {
    log.warn(fields, 'the payment provider does not know a customer that is entered for an organization');
    return new GovError('NOT_FOUND', 'the payment provider does not know the customer of the organization');
  }
  const isAway =
    error instanceof StripeConnectionError ||
    error instanceof StripeRateLimitError ||
    (statusCode ?? 500) >= 500;
  if (isAway) {
    log.warn(fields, 'the payment provider cannot be reached, or is not able to answer');
    return new GovError('OVERLOADED', 'the payment provider cannot be asked now; repeat later', {
      retryAfterSeconds: limits.overloadRetrySeconds,
    });
  }
  log.error(fields, 'the payment provider refuses our requests; check the key and its permissions');
  return new GovError('INTERNAL', 'Internal error');
}

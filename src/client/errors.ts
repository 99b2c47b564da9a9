/**
 * The errors of the library, all of the class `GovError`: the service returned a problem (RFC 9457), or could not be
 * reached or understood, or a spool cannot be used. `answers.ts` has a class for each kind of problem.
 * Tested by `test/client/errors.test.ts`.
 */
import type { FieldError } from '../contract/problems.ts';

/** An unchecked problem body: RFC 9457 members and extensions. Trust nothing in it. */
export type ProblemBody = Readonly<Record<string, unknown>>;

const textOr = (value: unknown, fallback: string): string => (typeof value === 'string' ? value : fallback);

/** Any error of this library. `code` is stable; the message is for people. */
export abstract class GovError extends Error {
  abstract readonly code: string;
  /** Whether the same call may succeed later. */
  abstract readonly retryable: boolean;
}

/**
 * The service returned a problem. Its subclasses name the kinds that programs handle: `GovNotFoundError` and others.
 * `detail` is remote text: clean it before printing it to a terminal.
 */
export class GovApiError extends GovError {
  override readonly name: string = 'GovApiError';
  /** A code of the problem register, or `HTTP_<status>` if another server than `gov` answered. */
  readonly code: string;
  readonly status: number;
  readonly detail: string;
  readonly requestId: string | undefined;
  readonly errors: readonly FieldError[];
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | undefined;
  readonly problem: ProblemBody;

  constructor(status: number, problem: ProblemBody, headers: Readonly<Record<string, string>>) {
    const title = textOr(problem['title'], `HTTP status ${status}`);
    const detail = textOr(problem['detail'], title);
    super(detail === title ? title : `${title}: ${detail}`);
    this.status = status;
    this.problem = problem;
    this.detail = detail;
    this.code = textOr(problem['code'], `HTTP_${status}`);
    this.requestId = textOr(problem['requestId'], headers['x-request-id'] ?? '') || undefined;
    this.errors = Array.isArray(problem['errors']) ? problem['errors'].filter(isFieldError) : [];
    this.retryAfterSeconds =
      retryAfter(headers['retry-after'], Date.parse(headers['date'] ?? '')) ??
      spentUntil(headers['ratelimit']);
    this.retryable =
      typeof problem['retryable'] === 'boolean' ? problem['retryable'] : transientStatuses.has(status);
  }
}

/** Statuses after which the same request may succeed. */
export const transientStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const isFieldError = (value: unknown): value is FieldError =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<FieldError>).pointer === 'string' &&
  typeof (value as Partial<FieldError>).detail === 'string';

/** Returns the seconds of Retry-After in either form (RFC 9110 section 10.2.3); undefined for any other text. */
export function retryAfter(header: string | undefined, serverTimeMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^[0-9]{1,9}$/.test(header.trim())) return Number(header);
  const at = /^[A-Z][a-z]{2}, /.test(header) ? Date.parse(header) : Number.NaN;
  if (Number.isNaN(at)) return undefined;
  const from = Number.isNaN(serverTimeMs) ? Date.now() : serverTimeMs;
  return Math.max(0, Math.ceil((at - from) / 1000));
}

/**
 * Returns the seconds until no policy of a `RateLimit` field is used up (draft-ietf-httpapi-ratelimit-headers, contract
 * D9); undefined if none is used up, or for another form.
 */
export function spentUntil(header: string | undefined): number | undefined {
  const waits = [...(header ?? '').matchAll(/"[^"]{0,128}"((?:;\s*[a-z*][a-z0-9_.*-]*=[^;,]+)*)/g)].flatMap(
    ([, parameters = '']) => {
      const { r, t } = Object.fromEntries(parameters.split(/;\s*/).map((each) => each.trim().split('=')));
      return r === '0' && /^[0-9]{1,9}$/.test(t ?? '') ? [Number(t)] : [];
    },
  );
  return waits.length === 0 ? undefined : Math.max(...waits);
}

interface NetworkErrorOptions {
  readonly hint?: string;
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

/** The service could not be reached, or its response could not be understood. */
export class GovNetworkError extends GovError {
  override readonly name: string = 'GovNetworkError';
  /** The system's code, such as ECONNREFUSED; or TIMEOUT, RESPONSE_TOO_LARGE, INVALID_RESPONSE. */
  readonly code: string;
  readonly hint: string | undefined;
  readonly retryable: boolean;

  constructor(code: string, message: string, options: NetworkErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.retryable = options.retryable ?? false;
  }
}

/** The service did not answer within the time limit of an attempt. */
export class GovTimeoutError extends GovNetworkError {
  override readonly name: string = 'GovTimeoutError';

  constructor(message: string, options: Omit<NetworkErrorOptions, 'retryable'> = {}) {
    super('TIMEOUT', message, { ...options, retryable: true });
  }
}

type SpoolFault = 'SPOOL_IN_USE' | 'SPOOL_DAMAGED' | 'SPOOL_OF_OTHER_SERVICE';

/** A directory of waiting events cannot be used. */
export class GovSpoolError extends GovError {
  override readonly name: string = 'GovSpoolError';
  readonly code: SpoolFault;
  readonly hint: string;
  readonly retryable = false;

  constructor(code: SpoolFault, message: string, { hint }: { readonly hint: string }) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

interface Explanation {
  readonly what: string;
  readonly hint?: string;
  readonly retryable?: boolean;
}

const chain: Explanation = {
  what: 'no authority that this machine trusts has signed its certificate',
  hint: 'give the authority’s certificate with --cacert FILE or GOV_CACERT',
};
const reset: Explanation = { what: 'the connection closed before a response came', retryable: true };
const unreachable: Explanation = {
  what: 'there is no route to it',
  hint: 'check the network, a VPN or a firewall',
  retryable: true,
};

const notTls: Explanation = {
  what: 'the server does not speak TLS, or only an unsafe version of it',
  hint: 'use http:// in the base URL or, if a proxy is configured, in HTTPS_PROXY',
};

/** Explanations of the codes of node:net, node:dns, node:tls and OpenSSL. */
const explanations: Readonly<Record<string, Explanation>> = {
  ECONNREFUSED: {
    what: 'no process listens there',
    hint: 'check that it runs; start a plane on this machine with gov plane serve',
    retryable: true,
  },
  // also the answer of a machine without a network
  ENOTFOUND: {
    what: 'the host name does not exist',
    hint: 'check the base URL and the network',
    retryable: true,
  },
  EAI_AGAIN: { what: 'the host name could not be resolved', hint: 'check DNS', retryable: true },
  ECONNRESET: reset,
  EPIPE: reset,
  ERR_STREAM_PREMATURE_CLOSE: reset,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  ETIMEDOUT: { what: 'the connection timed out', hint: 'check the network or a proxy', retryable: true },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: chain,
  UNABLE_TO_GET_ISSUER_CERT: chain,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: chain,
  SELF_SIGNED_CERT_IN_CHAIN: chain,
  DEPTH_ZERO_SELF_SIGNED_CERT: chain,
  CERT_HAS_EXPIRED: { what: 'its certificate has expired', hint: 'check the clock of both machines' },
  CERT_NOT_YET_VALID: { what: 'its certificate is not valid yet', hint: 'check the clock of both machines' },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    what: 'its certificate is for another host name',
    hint: 'use a name that is in the certificate',
  },
  ERR_SSL_WRONG_VERSION_NUMBER: notTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: notTls,
  // Node reports OpenSSL's "wrong version number" this way after a write
  EPROTO: notTls,
  ERR_PROXY_TUNNEL: { what: 'the proxy refused the tunnel', hint: 'check HTTPS_PROXY and its credentials' },
  HPE_INVALID_CONSTANT: { what: 'the server does not speak HTTP', hint: 'check the port and scheme' },
};

const codeOf = (cause: unknown): string => {
  if (typeof cause !== 'object' || cause === null) return 'UNKNOWN';
  if ('code' in cause && typeof cause.code === 'string') return cause.code;
  // "happy eyeballs" wraps one error per address
  if (cause instanceof AggregateError) return codeOf(cause.errors[0]);
  return 'UNKNOWN';
};

/** Returns whether the certificate chain ended at an authority that Node does not know. */
export const isUnknownAuthority = (cause: unknown): boolean => explanations[codeOf(cause)] === chain;

/** Converts a system error to a sentence. `place` is `scheme://host:port`; `proxy` the proxy used, if any. */
export function networkError(cause: unknown, place: string, proxy?: string): GovNetworkError {
  const code = codeOf(cause);
  const explained = explanations[code] ?? {
    what: cause instanceof Error ? cause.message : 'the connection failed',
    retryable: true,
  };
  const through = proxy === undefined ? '' : ` through the proxy ${proxy}`;
  const hint = proxy === undefined ? explained.hint : 'check HTTPS_PROXY, HTTP_PROXY and NO_PROXY';
  return new GovNetworkError(code, `could not reach ${place}${through}: ${explained.what}`, {
    cause,
    ...(hint === undefined ? {} : { hint }),
    retryable: explained.retryable ?? false,
  });
}

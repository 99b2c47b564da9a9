/**
 * Which web pages may call the service (contract A18, B15): those of its own origin and of a configured list.
 * Other pages get no CORS header, and their session cookie is rejected. Proven by
 * `test/http/admit/cors.test.ts` and `test/http/admit/csrf.test.ts`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { sessionCookie } from '../../contract/auth-words.ts';
import { GovError } from '../../contract/problems.ts';
import type { HeaderLines } from '../answer/write.ts';

const requestHeaders = [
  'authorization',
  'content-type',
  'gov-project',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'if-range',
  'range',
  'traceparent',
  'x-api-key',
  'x-request-id',
].join(', ');

const answerHeaders = [
  'accept-ranges',
  'content-disposition',
  'content-range',
  'deprecation',
  'etag',
  'gov-api-version',
  'gov-completeness',
  'gov-receipt',
  'gov-stability',
  'idempotent-replayed',
  'link',
  'location',
  'ratelimit',
  'ratelimit-policy',
  'repr-digest',
  'retry-after',
  'sunset',
  'traceparent',
  'www-authenticate',
  'x-request-id',
].join(', ');

const preflightSeconds = 600;

export class Origins {
  readonly #own: () => string;
  readonly #listed: ReadonlySet<string>;
  /** Names of the session cookie. */
  readonly cookies: readonly string[];

  /**
   * `listed`: whole origins, such as `https://app.example.com`. VALIDATION_ERROR for any other text,
   * including `*` and `null`.
   */
  constructor({
    own,
    listed = [],
    cookies = [sessionCookie],
  }: {
    own: () => string;
    listed?: readonly string[];
    cookies?: readonly string[];
  }) {
    for (const origin of listed) {
      if (isOrigin(origin)) continue;
      const detail = `expected origins such as https://app.example.com, without a path or wildcard, got ${origin}`;
      throw new GovError('VALIDATION_ERROR', detail);
    }
    this.#own = own;
    this.cookies = cookies;
    this.#listed = new Set(listed);
  }

  /**
   * Whether a page that may use the session cookie sent these headers. A browser says so itself or names the
   * page's origin. Other clients send neither, and need no cookie.
   */
  trusts(headers: IncomingHttpHeaders): boolean {
    return this.isOwn(headers) || (headers.origin !== undefined && this.#listed.has(headers.origin));
  }

  /** As `trusts`, without the listed pages. */
  isOwn({ origin, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
    return site === 'same-origin' || (origin !== undefined && origin === this.#own());
  }

  /** The CORS headers of an answer. Every answer varies by `Origin` once the list has an entry. */
  lines(origin: string | undefined): HeaderLines {
    if (this.#listed.size === 0) return [];
    if (origin === undefined || !this.#listed.has(origin)) return ['vary', 'Origin'];
    return [
      'vary',
      'Origin',
      'access-control-allow-origin',
      origin,
      'access-control-allow-credentials',
      'true',
      'access-control-expose-headers',
      answerHeaders,
    ];
  }

  /**
   * The headers of the answer to a preflight. Null where the request is no preflight or its origin is not on
   * the list.
   */
  preflight(headers: IncomingHttpHeaders, methods: readonly string[]): Record<string, string> | null {
    const { origin, 'access-control-request-method': method } = headers;
    if (origin === undefined || method === undefined || !this.#listed.has(origin)) return null;
    return {
      'access-control-allow-methods': methods.join(', '),
      'access-control-allow-headers': requestHeaders,
      'access-control-max-age': String(preflightSeconds),
    };
  }
}

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { origin, protocol } = new URL(text);
  return origin === text && (protocol === 'https:' || protocol === 'http:');
}

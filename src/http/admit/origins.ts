/**
 * Which web pages may call (contract A18, B15): those of the service's own origin and of a list. Off the list no CORS
 * header is sent, and a session cookie is not taken. Proven by `test/http/admit/cors.test.ts` and `test/http/admit/csrf.test.ts`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { GovError } from '../../contract/problems.ts';
import type { HeaderLines } from './rates.ts';

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
  'gov-stability',
  'idempotent-replayed',
  'link',
  'location',
  'ratelimit',
  'ratelimit-policy',
  'repr-digest',
  'retry-after',
  'sunset',
  'www-authenticate',
  'x-request-id',
].join(', ');

const preflightSeconds = 600;

export class Origins {
  readonly #own: () => string;
  readonly #listed: ReadonlySet<string>;

  /** `listed`: whole origins, such as `https://app.example.com`. VALIDATION_ERROR for anything else, `*` and `null` too. */
  constructor({ own, listed }: { own: () => string; listed: readonly string[] }) {
    for (const origin of listed) {
      if (isOrigin(origin)) continue;
      const detail = `expected origins such as https://app.example.com, without a path or wildcard, got ${origin}`;
      throw new GovError('VALIDATION_ERROR', detail);
    }
    this.#own = own;
    this.#listed = new Set(listed);
  }

  /**
   * Whether a session cookie that came with these headers was sent by a page that may send it: a browser says so
   * itself, or names the page's origin. Other clients send neither, and need no cookie.
   */
  trusts({ origin, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
    if (site === 'same-origin') return true;
    return origin !== undefined && (origin === this.#own() || this.#listed.has(origin));
  }

  /** For every answer. The answer depends on `Origin` as soon as any is listed. */
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

  /** For the answer to a preflight of a path with these methods; null where the request is none, or not of the list. */
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

/**
 * Reads the credentials of a request without trusting them (contract A15, B1, B2, B14, B15). A credential in
 * a header wins over the session cookie, which a browser adds by itself. Proven by
 * `test/http/admit/credentials.test.ts` and `test/http/admit/csrf.test.ts`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { projectHeader, signInCookie } from '../../contract/auth-words.ts';
import { GovError } from '../../contract/problems.ts';
import type { RawCredentials } from '../../service/port/handler.ts';
import { missingCredential, type RequestCredentials } from '../../service/credentials/shown.ts';
import type { Origins } from './origins.ts';

/** Throws like `readToken` and `readCookie`. */
export function readShown(headers: IncomingHttpHeaders, origins: Origins): RequestCredentials {
  const token = readToken(headers);
  const project = headers[projectHeader];
  return {
    token,
    cookie: token === null ? readCookie(headers, origins) : null,
    project: project === undefined ? null : String(project),
  };
}

/** The credentials of a call of an Auth operation. */
export const readPresented = (headers: IncomingHttpHeaders, origins: Origins): RawCredentials => {
  const { authorization } = headers;
  return {
    bearer: authorization === undefined ? null : bearerToken(authorization),
    cookie: readCookie(headers, origins),
    site: readSite(headers, origins),
    origin: origins.isOwn(headers) ? (headers.origin ?? null) : null,
    signIn: origins.isOwn(headers) ? (cookiesNamed(headers, [signInCookie])[0] ?? null) : null,
  };
};

/**
 * The token of a request, or null where it has none. UNAUTHENTICATED for a malformed header,
 * AMBIGUOUS_CREDENTIAL for two tokens.
 */
export function readToken(headers: IncomingHttpHeaders): string | null {
  const { authorization } = headers;
  const apiKey = headers['x-api-key'];
  if (authorization === undefined && apiKey === undefined) return null;
  const bearer = authorization === undefined ? null : bearerToken(authorization);
  if (apiKey === undefined) return bearer;
  if (bearer !== null && bearer !== apiKey) {
    const detail = 'expected one credential, got different ones in Authorization and X-API-Key';
    throw new GovError('AMBIGUOUS_CREDENTIAL', detail);
  }
  return String(apiKey);
}

/**
 * `%20` counts as the space: exporters take the header from `OTEL_EXPORTER_OTLP_HEADERS`, which is percent-encoded, and
 * some send it without decoding it (Claude Code 2.1).
 */
function bearerToken(header: string): string {
  const [scheme] = /^bearer(?: |%20)/i.exec(header) ?? [];
  if (scheme === undefined) throw missingCredential();
  return header.slice(scheme.length).trim();
}

/**
 * The session cookie, or null where the request has none. FORBIDDEN where the page may not send it (contract
 * B15), AMBIGUOUS_CREDENTIAL for several cookies.
 */
function readCookie(headers: IncomingHttpHeaders, origins: Origins): string | null {
  const [value = '', ...others] = cookiesNamed(headers, origins.cookies);
  if (value === '') return null;
  if (others.length > 0) {
    throw new GovError('AMBIGUOUS_CREDENTIAL', 'expected one session cookie, got several; sign in again');
  }
  if (origins.trusts(headers)) return value;
  const detail =
    'expected Sec-Fetch-Site: same-origin or the Origin of a page of this service with the session cookie, ' +
    'got neither; programs use an API key instead';
  throw new GovError('FORBIDDEN', detail);
}

const cookiesNamed = ({ cookie = '' }: IncomingHttpHeaders, names: readonly string[]): string[] =>
  cookie
    .split(';')
    .map((pair) => pair.trim().split('=', 2))
    .filter(([name = '']) => names.includes(name))
    .map(([, value = '']) => value)
    .filter((value) => value !== '');

/** What a browser says of the page that calls: it alone sets `Origin`. A page without trust counts as none. */
function readSite(headers: IncomingHttpHeaders, origins: Origins): RawCredentials['site'] {
  const { origin } = headers;
  if (origin === undefined || !URL.canParse(origin) || !origins.trusts(headers)) return null;
  const { protocol, hostname } = new URL(origin);
  if (protocol === 'https:') return 'secure';
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname) ? 'loopback' : null;
}

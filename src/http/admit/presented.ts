/**
 * What a request shows of who sends it (contract A15, B1, B2, B14, B15): read here, believed nowhere. A credential in a
 * header wins over the session cookie, which a browser adds by itself.
 * Proven by `test/http/admit/credentials.test.ts` and `test/http/admit/csrf.test.ts`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { projectHeader, sessionCookie } from '../../contract/auth-words.ts';
import { GovError } from '../../contract/problems.ts';
import type { Presented } from '../../service/call/handler.ts';
import { missingCredential, type Shown } from '../../service/access/shown.ts';
import type { Origins } from './origins.ts';

/** `origins`: null on a plane, which takes no cookie. What cannot be read is refused as `readToken` and `readCookie` say. */
export function readShown(headers: IncomingHttpHeaders, origins: Origins | null): Shown {
  const token = readToken(headers);
  const project = headers[projectHeader];
  return {
    token,
    cookie: token === null && origins !== null ? readCookie(headers, origins) : null,
    project: project === undefined ? null : String(project),
  };
}

/** What an Auth operation is called with. */
export const readPresented = (headers: IncomingHttpHeaders, origins: Origins): Presented => {
  const { authorization } = headers;
  return {
    bearer: authorization === undefined ? null : bearerToken(authorization),
    cookie: readCookie(headers, origins),
  };
};

/** The token of a request, or null where none was sent. UNAUTHENTICATED or AMBIGUOUS_CREDENTIAL otherwise. */
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

function bearerToken(header: string): string {
  if (header.slice(0, 7).toLowerCase() !== 'bearer ') throw missingCredential();
  return header.slice(7).trim();
}

/**
 * The session cookie, or null where none was sent. FORBIDDEN where the page that sent it may not (B15);
 * AMBIGUOUS_CREDENTIAL where there are several.
 */
function readCookie(headers: IncomingHttpHeaders, origins: Origins): string | null {
  const values = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${sessionCookie}=`))
    .map((pair) => pair.slice(sessionCookie.length + 1));
  const [value = '', ...others] = values;
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

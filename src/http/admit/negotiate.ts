/**
 * Checks of a request before its body is read (contract A7-A9): header count, URL length, media type,
 * charset, encoding, Accept. Proven by `test/http/transport.test.ts`.
 */
import type { IncomingMessage } from 'node:http';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { fieldError } from '../../service/call/schema.ts';
import { problemMediaType } from '../answer/problem.ts';
import { isPlainlyFramed } from '../answer/write.ts';

const jsonType = /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i;

/**
 * HEADERS_TOO_LARGE beyond limits that Node's parser does not enforce. VALIDATION_ERROR where a proxy could
 * read the request differently (RFC 9112 sections 3.2 and 6.1).
 */
export function checkEnvelope(request: IncomingMessage, url = request.url ?? ''): void {
  const fields = request.rawHeaders.length / 2;
  if (fields > limits.headerCount) {
    throw new GovError('HEADERS_TOO_LARGE', `expected at most ${limits.headerCount} headers, got ${fields}`);
  }
  if (url.length > limits.urlBytes) {
    const detail = `expected a URL of at most ${limits.urlBytes} bytes, got ${url.length}`;
    throw new GovError('HEADERS_TOO_LARGE', detail);
  }
  if (!isPlainlyFramed(request)) {
    throw headerFault('transfer-encoding', 'expected Transfer-Encoding: chunked, or none');
  }
}

/**
 * Headers that have one value and that we act on. Of a second line Node keeps the first or joins both with a comma, and a
 * proxy before us may keep the last, so neither may win. Lists, such as Accept and If-Match, may have several lines. Two
 * keys in X-API-Key or X-Cron-Secret are joined, which no key is: 401.
 */
const singles: ReadonlyMap<string, string> = new Map(
  [
    'Host',
    'Authorization',
    'Content-Type',
    'Content-Length',
    'Content-Encoding',
    'Idempotency-Key',
    'Gov-Project',
    'Origin',
    'Sec-Fetch-Site',
    'Range',
    'If-Range',
    'X-Telemetry-Signature',
    'X-Telemetry-Timestamp',
  ].map((name) => [name.toLowerCase(), name]),
);

/**
 * VALIDATION_ERROR unless a request names one host (RFC 9112 section 3.2) and each header of one value once (RFC 9110
 * section 5.3), else null. HTTP/1.0 may name no host.
 */
export function repeatedFault({ rawHeaders, httpVersion }: IncomingMessage): GovError | null {
  const found = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    const single = singles.get(name);
    if (single === undefined) continue;
    if (found.has(name)) return headerFault(name, `expected one ${single} header, got several`);
    found.add(name);
  }
  if (found.has('host') || httpVersion === '1.0') return null;
  return headerFault('host', 'expected one Host header, got none');
}

const headerFault = (name: string, detail: string): GovError =>
  fieldError({ pointer: `/${name}`, in: 'header', code: 'NOT_ALLOWED', detail });

/** UNSUPPORTED_MEDIA_TYPE unless a body is `multipart/form-data`. */
export function checkUpload({ headers }: IncomingMessage): void {
  refuseEncoding(headers);
  if (/^multipart\/form-data;/i.test(headers['content-type'] ?? '')) return;
  throw new GovError('UNSUPPORTED_MEDIA_TYPE', 'expected Content-Type: multipart/form-data with a boundary');
}

function refuseEncoding(headers: IncomingMessage['headers']): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return;
  throw new GovError('UNSUPPORTED_MEDIA_TYPE', 'expected a body without Content-Encoding');
}

/** UNSUPPORTED_MEDIA_TYPE unless a body is plain `application/json` in UTF-8. */
export function checkMediaType({ headers }: IncomingMessage): void {
  refuseEncoding(headers);
  const type = headers['content-type'];
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
  if (type === 'application/json' || (type === undefined && !hasBody)) return;
  if (type !== undefined && jsonType.test(type)) return;
  throw new GovError('UNSUPPORTED_MEDIA_TYPE', 'expected Content-Type: application/json (UTF-8)');
}

/**
 * NOT_ACCEPTABLE where the Accept header excludes the media type of the operation (RFC 9110 section 12.5.1): the most
 * specific range decides. An empty header, and one that lists only problems, says nothing about other answers.
 */
export function checkAccept(accept: string | undefined, mediaType: string): void {
  if (accept === undefined || accept === '*/*' || accept === mediaType) return;
  const ranges = accept
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim().toLowerCase()))
    .filter(([name]) => name !== '' && name !== problemMediaType);
  if (ranges.length === 0) return;
  const [type = ''] = mediaType.split('/');
  for (const wanted of [mediaType, `${type}/*`, '*/*']) {
    const [first, ...others] = ranges.filter(([name]) => name === wanted);
    if (first === undefined) continue;
    if ([first, ...others].some((range) => !range.some((part) => /^q=0(?:\.0*)?$/.test(part)))) return;
    break;
  }
  throw new GovError('NOT_ACCEPTABLE', `expected Accept to allow ${mediaType}`);
}

/**
 * What a request may look like before its body is read (contract A7-A9): header count, URL length, media
 * type, charset, encoding, Accept. Proven by `test/http/transport.test.ts`.
 */
import type { IncomingMessage } from 'node:http';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { fieldError } from '../../service/call/schema.ts';

const jsonType = /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i;

/**
 * Whether a message ends where every reader thinks it does (RFC 9112 section 6.1): `chunked` and nothing else.
 * The parser refuses other codings itself, but only after it handed the request out, as one without a body.
 */
export function isPlainlyFramed({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || /^\s*chunked\s*$/i.test(coding);
}

/**
 * HEADERS_TOO_LARGE beyond the bounds that Node's parser does not hold itself, VALIDATION_ERROR where a proxy
 * could read another request than we do (RFC 9112 sections 3.2 and 6.1).
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
  let hosts = 0;
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) throw headerFault('host', `expected one Host header, got ${hosts}`);
}

const headerFault = (name: string, detail: string): GovError =>
  fieldError({ pointer: `/${name}`, in: 'header', code: 'NOT_ALLOWED', detail });

/** UNSUPPORTED_MEDIA_TYPE unless a body that comes is plain `application/json` in UTF-8. */
export function checkMediaType({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new GovError('UNSUPPORTED_MEDIA_TYPE', 'expected a body without Content-Encoding');
  }
  const type = headers['content-type'];
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
  if (type === 'application/json' || (type === undefined && !hasBody)) return;
  if (type !== undefined && jsonType.test(type)) return;
  throw new GovError('UNSUPPORTED_MEDIA_TYPE', 'expected Content-Type: application/json (UTF-8)');
}

/** NOT_ACCEPTABLE where the Accept header excludes what the operation answers with. */
export function checkAccept(accept: string | undefined, mediaType: string): void {
  if (accept === undefined || accept === '*/*' || accept === mediaType) return;
  const [type = ''] = mediaType.split('/');
  const accepted = accept.split(',').some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const refused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    return !refused && (name === '*/*' || name === `${type}/*` || name === mediaType);
  });
  if (!accepted) throw new GovError('NOT_ACCEPTABLE', `expected Accept to allow ${mediaType}`);
}

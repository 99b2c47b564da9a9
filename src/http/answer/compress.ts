/**
 * Compresses large answers with gzip (RFC 9110 section 8.4.1.3) for clients that accept it, off the event loop. Answers with
 * an ETag stay as they are, because a strong validator names exact bytes. Proven by `test/http/transport.test.ts`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { limits } from '../../contract/limits.ts';
import type { RawAnswer } from './write.ts';

const zip = promisify(gzip);
/** Fast: JSON shrinks to a tenth at any level. */
const level = 3;

const isSuccess = (status: number): boolean => status === 200 || status === 201 || status === 202;

/** Whether an answer has another form for clients that accept gzip. */
export const isCompressible = ({ status, body, headers }: RawAnswer): boolean =>
  isSuccess(status) &&
  body.length >= limits.gzipBytes &&
  headers['etag'] === undefined &&
  /^(?:application\/json|text\/)/.test(headers['content-type'] ?? '');

/** The answer in the form that the client prefers. */
export async function compress(answer: RawAnswer, request: IncomingHttpHeaders): Promise<RawAnswer> {
  const headers = { ...answer.headers, vary: 'Accept-Encoding' };
  if (!acceptsGzip(request['accept-encoding'])) return { ...answer, headers };
  const body = await zip(answer.body, { level });
  return { ...answer, body, headers: { ...headers, 'content-encoding': 'gzip' } };
}

function acceptsGzip(header: string | string[] | undefined): boolean {
  const codings = String(header ?? '')
    .split(',')
    .map((coding) => coding.split(';').map((part) => part.trim().toLowerCase()));
  const named = codings.find(([name]) => name === 'gzip') ?? codings.find(([name]) => name === '*');
  return named !== undefined && !named.some((part) => /^q=0(?:\.0*)?$/.test(part));
}

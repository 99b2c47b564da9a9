/**
 * Answers with a stored file, whole or a range (RFC 9110 §13.2.2, §14; RFC 9530; RFC 6266). A request for several
 * ranges gets the whole file, as RFC 9110 §14.2 allows. Proven by `test/http/answer/exports.test.ts` and
 * `test/http/answer/export-statuses.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { StreamResponse } from '../call/answer.ts';
import { hasTag } from '../call/entity-tag.ts';
import type { Conditions } from '../port/handler.ts';
import type { ByteRange } from '../hosting/artifacts.ts';

export interface RangedFile {
  /** SHA-256, 32 bytes. */
  readonly digest: Buffer;
  readonly sizeBytes: number;
  readonly contentType: string;
  /** Letters, digits, dots, hyphens and underscores; an attacker chooses no part of it. */
  readonly filename: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called once the answer is certain, before any byte. */
  readonly begin: () => Promise<void>;
  readonly read: (range: ByteRange) => AsyncIterable<Uint8Array>;
  /** See `Streamed.still`. */
  readonly still: () => Promise<void>;
}

const unconditional: Conditions = { range: null, ifRange: null, ifMatch: null, ifNoneMatch: null };

/** PRECONDITION_FAILED, RANGE_NOT_SATISFIABLE, and errors of `begin`. */
export async function rangedAnswer(file: RangedFile, asked: Conditions | null): Promise<StreamResponse> {
  const { digest, sizeBytes: size, contentType, filename, headers = {} } = file;
  const etag = `"${digest.toString('hex')}"`;
  const conditions = asked ?? unconditional;
  if (conditions.ifMatch !== null && !hasTag(conditions.ifMatch, etag, 'strong')) {
    throw new GovError(
      'PRECONDITION_FAILED',
      `expected an If-Match with the file's tag ${etag}; download it again`,
    );
  }
  const always = { etag, 'cache-control': 'no-store', 'accept-ranges': 'bytes', ...headers };
  const none = { bytes: 0, chunks: () => nothing(), still: () => Promise.resolve() };
  if (conditions.ifNoneMatch !== null && hasTag(conditions.ifNoneMatch, etag, 'weak')) {
    return { status: 304, headers: always, ...none };
  }
  const range =
    conditions.ifRange === null || conditions.ifRange === etag ? rangeOf(conditions.range, size) : null;
  const { from, to } = range ?? { from: 0, to: size };
  await file.begin();
  return {
    status: range === null ? 200 : 206,
    headers: {
      ...always,
      'content-type': contentType,
      'content-disposition': `attachment; filename="${filename}"`,
      'repr-digest': `sha-256=:${digest.toString('base64')}:`,
      'content-security-policy': "default-src 'none'; sandbox",
      ...(range === null ? {} : { 'content-range': `bytes ${from}-${to - 1}/${size}` }),
    },
    bytes: to - from,
    still: () => file.still(),
    chunks: () => file.read({ from, to }),
  };
}

async function* nothing(): AsyncGenerator<Uint8Array, void, undefined> {}

const oneRange = /^bytes=[ \t]*([0-9]{0,15})-([0-9]{0,15})[ \t]*$/i;

/**
 * The bytes that a Range header asks for. Null for all of them: without a header, or with one of another
 * form. RANGE_NOT_SATISFIABLE where the range starts after the end. An attacker controls the header.
 */
function rangeOf(header: string | null, size: number): ByteRange | null {
  const [, first = '', last = ''] = oneRange.exec(header ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const wanted = Number(last);
    if (wanted === 0 || size === 0) throw beyond(size);
    return { from: Math.max(0, size - wanted), to: size };
  }
  const from = Number(first);
  const to = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < from) return null;
  if (from >= size) throw beyond(size);
  return { from, to };
}

const beyond = (size: number): GovError =>
  new GovError('RANGE_NOT_SATISFIABLE', `expected a range within ${size} bytes`, { extensions: { size } });

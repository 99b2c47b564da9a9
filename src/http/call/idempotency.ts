/**
 * The `Idempotency-Key` header (contract D6; draft-ietf-httpapi-idempotency-key). Reads the key, fingerprints
 * the request, and answers a repeat with the stored answer. The store keeps the answer of each success in
 * the transaction of its effect. The fingerprint is an HMAC over the original body: with a plain hash, a reader of the database
 * could guess redacted values and check each guess. Proven by `test/http/call/idempotency.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { sha256 } from '../../core/hash.ts';
import type { TimeSlices } from '../../core/json/items.ts';
import { canonicalize, type Json } from '../../core/json/parse.ts';
import type { StreamResponse } from '../../service/call/answer.ts';
import type { Caller } from '../../service/call/caller.ts';
import { keyReused } from '../../service/writes/append.ts';
import type { StoredResponse } from '../../store/port/store.ts';
import { problemMediaType } from '../answer/problem.ts';
import { jsonMediaType, type RawAnswer } from '../answer/write.ts';
import { eachPiece } from '../../core/json/sliced.ts';
import type { Route } from './route.ts';
import { openKept, type Idempotency } from '../../service/call/idempotency.ts';
import { noteLeaves } from '../../service/log/receipts.ts';
import { fieldError } from '../../service/call/schema.ts';
import type { Services } from '../../service/port/services.ts';

/** Visible ASCII, and the RFC 8941 string form around it. */
const visible = /^[\x21-\x7e]+$/;
const quoted = /^"((?:[^"\\]|\\["\\])*)"$/;

/** A request that came with a key. */
interface KeyedRequest {
  /** Null where the handler identifies the person; the handler then makes the key that person's own. */
  readonly caller: Caller | null;
  readonly method: string;
  /** The row's path template. The fingerprint uses the real path. */
  readonly route: string;
  readonly url: string;
  readonly body: unknown;
}

/**
 * Returns null where the header is absent. VALIDATION_ERROR for a malformed key. An attacker controls the
 * key.
 */
export function readIdempotency(
  header: string | string[] | undefined,
  request: KeyedRequest,
  { fingerprint }: Pick<Services, 'fingerprint'>,
): Idempotency | null {
  if (header === undefined) return null;
  const key = scopedKey(String(header), request);
  const body = request.body === undefined ? '' : canonicalize(request.body as Json);
  return { key, fingerprint: fingerprint(beforeBody(request) + body) };
}

/** The same for a large body, in slices. */
export async function readIdempotencyInSlices(
  header: string | string[],
  request: KeyedRequest,
  { fingerprinting, pace }: Pick<Services, 'fingerprinting'> & { readonly pace: TimeSlices },
): Promise<Idempotency> {
  const key = scopedKey(String(header), request);
  const made = fingerprinting();
  made.add(beforeBody(request));
  // a parsed body is JSON
  await eachPiece(request.body as Json, { pace, take: (text) => made.add(text) });
  return { key, fingerprint: made.finish() };
}

function scopedKey(header: string, { caller, method, route }: KeyedRequest): string {
  const who = caller === null ? [] : [caller.project.projectId, caller.id, ...runOf(caller)];
  const scope = ['gov.idempotency/1', ...who, method, route, unwrap(header)];
  return sha256(JSON.stringify(scope)).toString('hex');
}

/** A run token's own: a request that names no run is of another run with another token of the same key. */
const runOf = ({ run }: Caller): readonly string[] => (run === undefined ? [] : [`run ${run}`]);

const beforeBody = ({ method, url }: KeyedRequest): string => `gov.request/1\n${method}\n${url}\n`;

function unwrap(header: string): string {
  const key = quoted.exec(header)?.[1]?.replace(/\\(["\\])/g, '$1') ?? header;
  if (visible.test(key) && key.length <= limits.idempotencyKeyChars) return key;
  throw fieldError({
    pointer: '/Idempotency-Key',
    in: 'header',
    code: 'BAD_FORMAT',
    detail: `expected 1 to ${limits.idempotencyKeyChars} visible ASCII characters`,
    limit: limits.idempotencyKeyChars,
  });
}

/** One call with a key, ready to run. */
interface KeyedCall {
  readonly caller: Caller;
  readonly idempotency: Idempotency;
  /** Runs the handler and writes its answer. */
  readonly work: () => Promise<RawAnswer | StreamResponse>;
}

/**
 * Runs a call with a key, or returns the stored answer of its first success. IDEMPOTENCY_KEY_REUSE where the key came
 * with another request. The handler stores its success with its effect. A refusal had no effect and is not stored:
 * nearly every refusal ends by itself once the missing thing exists, and a repeat must find that out (contract D6).
 * Where another process ran the same request in the meantime, its effect may be what refused this one: its answer is that
 * of both.
 */
export async function runOnce(
  route: Route,
  { caller, idempotency, work }: KeyedCall,
): Promise<RawAnswer | StreamResponse> {
  const { projectId } = caller.project;
  const keptAnswer = async (): Promise<RawAnswer | null> => {
    const kept = await route.services.store.keptResponse(projectId, idempotency.key);
    if (kept === null) return null;
    if (kept.fingerprint !== idempotency.fingerprint) throw keyReused();
    noteLeaves(projectId, kept.response.leaves);
    return replay(route, kept.response);
  };
  const kept = await keptAnswer();
  if (kept !== null) return kept;
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof GovError) || error.status >= 500) throw error;
    const other = await keptAnswer();
    if (other === null) throw error;
    return other;
  }
}

/** Writes the stored answer of an earlier, identical request, marked with `Idempotent-Replayed`. */
export function replay({ services }: Route, kept: StoredResponse): RawAnswer {
  const { status, body, headers } = openKept(kept, services);
  // older builds stored refusals, which stay for a day
  const contentType = status >= 400 ? problemMediaType : jsonMediaType;
  return {
    status,
    body,
    headers: { 'content-type': contentType, ...headers, 'idempotent-replayed': 'true' },
  };
}

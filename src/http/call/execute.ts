/**
 * Runs one admitted request: strict JSON, exact validation, idempotency, handler, answer. Proven by
 * `test/http/hostile.test.ts` and `test/http/call/idempotency.engines.test.ts`.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { refusedCredential } from '../../core/credential.ts';
import { answerHeader, answerText, isBoundTo } from '../../core/request-token.ts';
import { parseItems } from '../../core/json/items.ts';
import { defaultBounds, largeBounds, parseJson, type Json } from '../../core/json/parse.ts';
import { parseJsonInSlices } from '../../core/json/sliced.ts';
import { bodyHashOf, changeHeader } from '../../core/approvals/change-statement.ts';
import { notFound } from '../../service/call/answer.ts';
import { contentTag, hasTag } from '../../service/call/entity-tag.ts';
import type { Caller } from '../../service/call/caller.ts';
import type { Conditions, SignedRequest } from '../../service/port/handler.ts';
import type {
  PlainAnswer,
  ReplayedResponse,
  StreamResponse,
  WrittenBody,
} from '../../service/call/answer.ts';
import { fieldError, loadCheck, refusal } from '../../service/call/schema.ts';
import type { Slice } from '../../service/call/slices.ts';
import { withReceipt } from '../../service/log/receipts.ts';
import { DenialError } from '../../service/credentials/shown.ts';
import { compress, isCompressible } from '../answer/compress.ts';
import { jsonMediaType, writeAnswer, type RawAnswer } from '../answer/write.ts';
import { readmit } from './admit.ts';
import { asRouteError } from '../answer/errors.ts';
import { readIdempotency, readIdempotencyInSlices, replay, runOnce } from './idempotency.ts';
import { namedBy, type Route } from './route.ts';
import { renderProblem } from '../answer/problem.ts';
import { streamAnswer } from '../answer/download.ts';
import { requireSigned } from '../admit/signed.ts';
import { readParams, readQuery } from './text.ts';
import { readUpload, uploadBody } from './upload.ts';

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Runs one admitted request and writes its answer. An error becomes a problem. */
export async function serve(route: Route, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const started = performance.now();
  try {
    const answer = await execute(route, request);
    if ('chunks' in answer) {
      const still = async (): Promise<void> => {
        await readmit(route, request);
        await answer.still();
      };
      await streamAnswer(route, { request, reply }, { ...answer, still });
      answered(route, request, { status: answer.status, started });
      return;
    }
    const current = unlessKnown(route, request, answer);
    const written = isCompressible(current) ? await compress(current, request.headers) : current;
    send(route, { request, reply }, written);
    answered(route, request, { status: written.status, started });
  } catch (error) {
    fail(route, error, { request, reply, started });
  }
}

/**
 * Writes an answer. OVERLOADED for a large answer to GET while the client leaves too many bytes unread; the
 * answer of a completed write is always sent.
 */
function send(route: Route, { request, reply }: Exchange, answer: RawAnswer): void {
  const { unsent, row } = route;
  const { body } = answer;
  if (row.method === 'GET' && body.length > limits.unsentCountedBytes) unsent.check(request);
  writeAnswer(reply, proven(route, request, answer));
  if (reply.raw.writableLength > limits.unsentCountedBytes) unsent.hold(request, reply.raw, body);
}

/** Counts an answer. At log level debug also logs it, without the query, which may name people. */
function answered(
  { stats, services, id }: Route,
  request: FastifyRequest,
  { status, started }: { status: number; started: number },
): void {
  const ms = performance.now() - started;
  stats.answered(status, ms);
  if (!services.debugging) return;
  const { id: requestId, caller } = request;
  services.log.debug({ requestId, operation: id, status, ms, caller: caller?.id ?? null }, 'answered');
}

async function execute(route: Route, request: FastifyRequest): Promise<RawAnswer | StreamResponse> {
  const { row, services } = route;
  requireOwnRequest(request);
  const params = readParams(row.params, request.params as Record<string, string>);
  if (params === null) throw notFound(namedBy(row));
  const at = request.url.indexOf('?');
  const query = readQuery(row.query, at === -1 ? '' : request.url.slice(at + 1));
  const file = row.upload === undefined ? null : await readUpload(row.upload, request);
  const read = file === null ? readBody(route, request) : uploadBody(file);
  const body = read instanceof Promise ? await read : read;
  const breath = paceOf(route, request);
  await breath?.next();
  const canonical = canonicalOf(route, request, body);
  const signed = signedRequestOf(route, request, body);
  if (row.body !== undefined) {
    route.check ??= await loadCheck(row.body, { in: 'body', readOnly: row.readOnly ?? [] });
    route.dropNulls?.(body);
    await breath?.next();
    const findings = route.check(body);
    if (findings !== null) throw refusal(findings);
    await breath?.next();
  }
  const { caller, presented } = request;
  const { basePath } = route;
  const header = row.method === 'POST' ? request.headers['idempotency-key'] : undefined;
  const keyed = { caller, method: row.method, route: row.path, url: request.originalUrl, body };
  const pace = header === undefined ? null : paceOf(route, request);
  const idempotency =
    header === undefined || pace === null
      ? readIdempotency(header, keyed, services)
      : await readIdempotencyInSlices(header, keyed, { ...services, pace });
  const ifMatch = row.ifMatch === true ? (request.headers['if-match'] ?? null) : null;
  const conditions = row.ranged === true ? conditionsOf(request) : null;
  const shown = { caller, presented, conditions, canonical, request: signed };
  const call = { params, query, body, basePath, origin: route.origin, file, idempotency, ifMatch, ...shown };
  // the row's schemas accepted exactly what `call` holds, and the handler's type says the same
  const answer = (): Promise<PlainAnswer | ReplayedResponse | WrittenBody | StreamResponse> =>
    route.handler(call as never, route.services);
  const work = async (): Promise<RawAnswer | StreamResponse> => {
    const given = await answer();
    return 'chunks' in given ? given : written(route, given);
  };
  if (caller === null || row.method === 'GET') return work();
  return withReceipt(services, caller.project, () =>
    idempotency === null
      ? work()
      : route.inFlight.run(idempotency, () => runOnce(route, { caller, idempotency, work })),
  );
}

/** INVALID_CREDENTIAL for a request token of another request. Cost: SHA-256 of the body. */
function requireOwnRequest({ caller, method, originalUrl: target, headers, body }: FastifyRequest): void {
  if (caller?.request === undefined) return;
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  const idempotencyKey = textOf(headers['idempotency-key']) ?? undefined;
  if (isBoundTo(caller.request, { method, target, idempotencyKey, body: bytes })) return;
  throw new DenialError(caller, refusedCredential());
}

/** Signs the answer to a request token, which proves that the log of the project gave it. */
function proven({ services }: Route, { caller }: FastifyRequest, answer: RawAnswer): RawAnswer {
  if (caller?.request === undefined) return answer;
  const text = answerText(caller.request.token, answer.status, answer.body);
  // while keys are rotated, the old and the new one sign
  const signature = services
    .logSigners(caller.project.auditOrigin)
    .filter(({ algorithm }) => algorithm === 'ed25519')
    .map((signer) => Buffer.from(signer.signMessage(text)).toString('base64url'))
    .join(',');
  return { ...answer, headers: { ...answer.headers, [answerHeader]: signature } };
}

/** 304 without a body where the client has the answer already (RFC 9110 section 13.1.2). */
function unlessKnown({ row }: Route, { headers }: FastifyRequest, answer: RawAnswer): RawAnswer {
  const { etag } = answer.headers;
  const known = headers['if-none-match'];
  if (row.tagged !== true || etag === undefined || known === undefined) return answer;
  return hasTag(known, etag, 'weak') ? { status: 304, body: '', headers: { etag } } : answer;
}

const conditionsOf = ({ method, headers }: FastifyRequest): Conditions => ({
  // RFC 9110 section 14.2 defines ranges for GET alone
  range: method === 'GET' ? (headers.range ?? null) : null,
  ifRange: textOf(headers['if-range']),
  ifMatch: headers['if-match'] ?? null,
  ifNoneMatch: headers['if-none-match'] ?? null,
});

const textOf = (header: string | string[] | undefined): string | null =>
  header === undefined ? null : String(header);

/** Hashes the body only where somebody asks, which few requests need. */
function signedRequestOf(
  { row: { method }, basePath }: Route,
  { originalUrl, headers }: FastifyRequest,
  body: unknown,
): SignedRequest {
  const header = textOf(headers[changeHeader]);
  const path = originalUrl.startsWith(basePath) ? originalUrl.slice(basePath.length) : originalUrl;
  return {
    method,
    path,
    header,
    get bodyHash() {
      return bodyHashOf(body as Json | undefined); // a parsed body is JSON
    },
  };
}

/** The text that a data plane signed, or null where the operation needs no signature. */
function canonicalOf({ row, services }: Route, request: FastifyRequest, body: unknown): string | null {
  const { caller, headers } = request;
  if (row.signed !== true || caller === null) return null;
  return requireSigned(caller, { headers, body, nowMs: services.now() });
}

function written(route: Route, answer: PlainAnswer | ReplayedResponse | WrittenBody): RawAnswer {
  if ('replayed' in answer) return replay(route, answer.replayed);
  const { status } = answer;
  const headers = 'headers' in answer ? answer.headers : {};
  const success = route.row.success[status];
  if (success !== undefined && 'empty' in success) return { status, body: '', headers: { ...headers } };
  const body = 'raw' in answer ? answer.raw : bodyOf(route, answer.body);
  const tag = 'raw' in answer ? {} : tagOf(route, answer);
  return { status, body, headers: { 'content-type': route.contentType, ...tag, ...headers } };
}

/** The tag of a resource by its content; a handler that has a revision answers with that. */
const tagOf = ({ row }: Route, { status, body }: PlainAnswer): { readonly etag?: string } =>
  status === 200 && (row.tagged === true || (row.ifMatch === true && row.method === 'PUT'))
    ? contentTag(body as object)
    : {};

/** Text rows answer with text or bytes, all others with JSON. */
function bodyOf({ contentType }: Route, body: unknown): string | Uint8Array {
  const isWritten = typeof body === 'string' || body instanceof Uint8Array;
  return isWritten && contentType !== jsonMediaType ? body : JSON.stringify(body);
}

/** From this size on, a body is read in slices, and each later step has a turn of its own: what is smaller takes 2 ms. */
const slicedBytes = 256 * 1024;

const slicesOf = ({ services }: Route, { caller }: FastifyRequest): Slice =>
  services.slices.of(caller?.project.projectId ?? '');

/** Slices for a large body, or null. */
const paceOf = (route: Route, request: FastifyRequest): Slice | null =>
  isLarge(request) ? slicesOf(route, request) : null;

const isLarge = ({ body }: FastifyRequest): boolean =>
  ((body as Buffer | undefined)?.length ?? 0) > slicedBytes;

/**
 * The parsed body. Undefined where the row takes no body and the request has none or an empty object. A promise only
 * where the body is large, or where the items of a list are read one by one, since one of them may be at fault.
 */
function readBody(route: Route, request: FastifyRequest): unknown {
  const { row } = route;
  const bytes = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
  if (row.body === undefined) return bytes.length === 0 ? undefined : requireEmpty(parseJson(bytes));
  const bounds = (row.bodyBytes ?? 0) > limits.bodyBytes ? largeBounds : defaultBounds;
  const pace = paceOf(route, request);
  if (row.items === undefined)
    return pace === null ? parseJson(bytes, bounds) : parseJsonInSlices(bytes, bounds, pace);
  if (pace !== null) return parseItems(bytes, { bounds, member: row.items, pace });
  try {
    return parseJson(bytes, bounds);
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    return parseItems(bytes, { bounds, member: row.items, pace: slicesOf(route, request) });
  }
}

function requireEmpty(body: Json): undefined {
  if (typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length === 0) {
    return undefined;
  }
  throw fieldError({ pointer: '', in: 'body', code: 'UNKNOWN_FIELD', detail: 'expected no body' });
}

export function fail(route: Route, error: unknown, on: Exchange & { readonly started?: number }): void {
  const { request, reply, started = performance.now() } = on;
  const known = asRouteError(route, error, request);
  reportRefusal(route, known, request.caller);
  if (known.code === 'INTERNAL') {
    const { traceparent } = request.headers;
    const fields = { err: error, requestId: request.id, traceparent, operation: route.id };
    route.services.log.error(fields, 'unexpected error');
  }
  const problem = renderProblem(known, { requestId: request.id, base: route.problemBase() });
  writeAnswer(reply, proven(route, request, problem));
  answered(route, request, { status: known.status, started });
}

/** Reports a refusal of a known caller, so that the log of its project can record it. */
function reportRefusal({ services, id }: Route, error: GovError, caller: Caller | null): void {
  const who = error instanceof DenialError ? error.caller : error.status === 403 ? caller : null;
  if (who !== null) services.denied?.(who, { operation: id, code: error.code });
}

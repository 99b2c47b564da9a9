/**
 * One admitted request: strict JSON, exact validation, idempotency, handler, answer; and every way in which
 * that can fail, as a problem. Proven by `test/http/*.test.ts` over real sockets.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../contract/limits.ts';
import { GovError } from '../contract/problems.ts';
import { defaultBounds, largeBounds, parseJson } from '../core/json/parse.ts';
import { append, keyReused, unmetered } from '../service/events/append.ts';
import { notFound, openKept } from '../service/call/handler.ts';
import type {
  Caller,
  Conditions,
  Idempotency,
  PlainAnswer,
  Replayed,
  Streamed,
  Written as WrittenBody,
} from '../service/call/handler.ts';
import { fieldError, loadCheck, refusal } from '../service/call/schema.ts';
import { Denied } from '../service/access/shown.ts';
import type { StoredResponse } from '../store/port/store.ts';
import { jsonMediaType, writeAnswer, type Written } from './answer/write.ts';
import { readmit } from './admit/request.ts';
import { isExecuted, readIdempotency } from './idempotency.ts';
import { namedBy, type Route } from './route.ts';
import { problemMediaType, renderProblem } from './answer/problem.ts';
import { streamAnswer } from './answer/download.ts';
import { requireSigned } from './admit/signed.ts';
import { readParams, readQuery } from './text.ts';

interface On {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Runs one admitted request to its answer. */
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
    send(route, { request, reply }, answer);
    answered(route, request, { status: answer.status, started });
  } catch (error) {
    fail(route, error, { request, reply, started });
  }
}

/** What was only asked for is not added to what waits already. What was done is told. */
function send({ unsent, row }: Route, { request, reply }: On, answer: Written): void {
  const { body } = answer;
  if (row.method === 'GET' && body.length > limits.unsentCountedBytes) unsent.check(request);
  writeAnswer(reply, answer);
  if (reply.raw.writableLength > limits.unsentCountedBytes) unsent.hold(request, reply.raw, body);
}

/** Counts an answer; at log level debug it is also told, without the query, which may name people. */
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

async function execute(route: Route, request: FastifyRequest): Promise<Written | Streamed> {
  const { row } = route;
  const params = readParams(row.params, request.params as Record<string, string>);
  if (params === null) throw notFound(namedBy(row));
  const at = request.url.indexOf('?');
  const query = readQuery(row.query, at === -1 ? '' : request.url.slice(at + 1));
  const body = readBody(route, request.body as Buffer | undefined);
  const canonical = canonicalOf(route, request, body);
  if (row.body !== undefined) {
    route.check ??= await loadCheck(row.body, { in: 'body', readOnly: row.readOnly ?? [] });
    const findings = route.check(body);
    if (findings !== null) throw refusal(findings);
  }
  const { caller, presented } = request;
  const { basePath } = route;
  const header = row.method === 'POST' ? request.headers['idempotency-key'] : undefined;
  const keyed = { caller, method: row.method, route: row.path, url: request.originalUrl, body };
  const idempotency = readIdempotency(header, keyed, route.services);
  const ifMatch = row.ifMatch === true ? (request.headers['if-match'] ?? null) : null;
  const conditions = row.ranged === true ? conditionsOf(request) : null;
  const shown = { caller, presented, conditions, canonical };
  const call = { params, query, body, basePath, idempotency, ifMatch, ...shown };
  // `call` holds exactly what the row's schemas accepted, which is what the handler's type says
  const work = (): Promise<PlainAnswer | Replayed | WrittenBody | Streamed> =>
    route.handler(call as never, route.services);
  if (idempotency === null || caller === null) {
    const answer = await work();
    return 'chunks' in answer ? answer : written(route, answer);
  }
  return route.inFlight.run(idempotency, () => once(route, { caller, idempotency, work }, request.id));
}

const conditionsOf = ({ method, headers }: FastifyRequest): Conditions => ({
  // RFC 9110 section 14.2: for GET alone
  range: method === 'GET' ? (headers.range ?? null) : null,
  ifRange: textOf(headers['if-range']),
  ifMatch: headers['if-match'] ?? null,
  ifNoneMatch: headers['if-none-match'] ?? null,
});

const textOf = (header: string | string[] | undefined): string | null =>
  header === undefined ? null : String(header);

/** What a data plane signed; null where nothing is signed. */
function canonicalOf({ row, services }: Route, request: FastifyRequest, body: unknown): string | null {
  const { caller, headers } = request;
  if (row.signed !== true || caller === null) return null;
  return requireSigned(caller, { headers, body, nowMs: services.now() });
}

/** Answers a repeat with what the first request got; keeps a refusal that was executed. */
async function once(
  route: Route,
  keyed: {
    caller: Caller;
    idempotency: Idempotency;
    work: () => Promise<PlainAnswer | Replayed | WrittenBody | Streamed>;
  },
  requestId: string,
): Promise<Written> {
  const { caller, idempotency, work } = keyed;
  const { projectId } = caller.project;
  const kept = await route.services.store.keptResponse(projectId, idempotency.key);
  if (kept !== null) {
    if (kept.fingerprint === idempotency.fingerprint) return replay(route, kept.response);
    throw keyReused();
  }
  try {
    const answer = await work();
    if ('chunks' in answer) throw new Error(`${route.id} streams, and is asked with a key`);
    return written(route, answer);
  } catch (error) {
    if (!(error instanceof GovError) || !isExecuted(error)) throw error;
    const rendered = renderProblem(error, { requestId, base: route.problemBase() });
    const stored = await append(route.services, {
      projectId,
      leaves: [],
      meter: unmetered,
      idempotency: { ...idempotency, response: rendered },
    });
    return 'replayed' in stored ? replay(route, stored.replayed) : rendered;
  }
}

function replay({ services }: Route, kept: StoredResponse): Written {
  const { status, body, headers } = openKept(kept, services);
  const contentType = status >= 400 ? problemMediaType : jsonMediaType;
  return {
    status,
    body,
    headers: { 'content-type': contentType, ...headers, 'idempotent-replayed': 'true' },
  };
}

function written(route: Route, answer: PlainAnswer | Replayed | WrittenBody): Written {
  if ('replayed' in answer) return replay(route, answer.replayed);
  const { status } = answer;
  const headers = 'headers' in answer ? answer.headers : {};
  const success = route.row.success[status];
  if (success !== undefined && 'empty' in success) return { status, body: '', headers: { ...headers } };
  return {
    status,
    body: 'raw' in answer ? answer.raw : bodyOf(route, answer.body),
    headers: { 'content-type': route.contentType, ...headers },
  };
}

/** Text rows answer with text or bytes, all others with JSON. */
function bodyOf({ contentType }: Route, body: unknown): string | Uint8Array {
  const isWritten = typeof body === 'string' || body instanceof Uint8Array;
  return isWritten && contentType !== jsonMediaType ? body : JSON.stringify(body);
}

/** The parsed body; undefined where the row takes none and none (or an empty object) came. */
function readBody({ row }: Route, bytes: Buffer | undefined): unknown {
  if (row.body !== undefined) {
    const large = (row.bodyBytes ?? 0) > limits.bodyBytes;
    return parseJson(bytes ?? Buffer.alloc(0), large ? largeBounds : defaultBounds);
  }
  if (bytes === undefined || bytes.length === 0) return undefined;
  const body = parseJson(bytes);
  if (typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length === 0) {
    return undefined;
  }
  const detail = 'expected no body';
  throw fieldError({ pointer: '', in: 'body', code: 'UNKNOWN_FIELD', detail });
}

export function fail(route: Route, error: unknown, on: On & { readonly started?: number }): void {
  const { request, reply, started = performance.now() } = on;
  const known = asRouteError(route, error, request);
  tellDenied(route, known, request.caller);
  if (known.code === 'INTERNAL') {
    const { traceparent } = request.headers;
    const fields = { err: error, requestId: request.id, traceparent, operation: route.id };
    route.services.log.error(fields, 'unexpected error');
  }
  writeAnswer(reply, renderProblem(known, { requestId: request.id, base: route.problemBase() }));
  answered(route, request, { status: known.status, started });
}

/** Whoever keeps the log of a project learns of a known caller that was refused. */
function tellDenied({ services, id }: Route, error: GovError, caller: Caller | null): void {
  const who = error instanceof Denied ? error.caller : error.status === 403 ? caller : null;
  if (who !== null) services.denied?.(who, { operation: id, code: error.code });
}

/** As `asGovError`; a body that is too large is told the limit of its operation and, if declared, its size. */
function asRouteError({ row }: Route, error: unknown, { headers }: FastifyRequest): GovError {
  const { code } = (error ?? {}) as { code?: unknown };
  if (code !== 'FST_ERR_CTP_BODY_TOO_LARGE') return asGovError(error);
  const limit = row.bodyBytes ?? limits.bodyBytes;
  const declared = headers['content-length'];
  const came = declared === undefined ? 'more' : `${declared}`;
  const detail = `expected a body of at most ${limit} bytes, got ${came}; send less, or split it`;
  return new GovError('PAYLOAD_TOO_LARGE', detail, { extensions: { limit } });
}

/** What Fastify itself refuses, in our register's words. */
export function asGovError(error: unknown): GovError {
  if (error instanceof GovError) return error;
  switch ((error as { code?: unknown } | null)?.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new GovError('PAYLOAD_TOO_LARGE', 'expected a smaller body; see the limits of the interface');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new GovError('UNSUPPORTED_MEDIA_TYPE', 'expected Content-Type: application/json (UTF-8)');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new GovError('INVALID_JSON', 'expected as many bytes as Content-Length says');
    case 'FST_ERR_BAD_URL':
      return new GovError('VALIDATION_ERROR', 'expected a percent-encoded URL path in UTF-8');
    case 'FST_ERR_HANDLER_TIMEOUT':
      return new GovError('OVERLOADED', 'the answer took too long; repeat later, or ask for less');
    case 'ECONNRESET':
    case 'ABORT_ERR':
      return new GovError('INVALID_JSON', 'the request ended before its body was complete');
    default:
      return new GovError('INTERNAL', 'Internal error', { cause: error });
  }
}

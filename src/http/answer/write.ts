/**
 * Writes answers to the socket, past Fastify's reply (`hijack`): each body is already text or bytes, and
 * headers are few. Proven by `test/http/transport.test.ts`.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { limits } from '../../contract/limits.ts';

export const apiVersion = '1.0.0';
export const jsonMediaType = 'application/json; charset=utf-8';

/** Names and values of headers, alternating. */
export type HeaderLines = readonly string[];

export interface RawAnswer {
  readonly status: number;
  readonly body: string | Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** Answers a request once. Does nothing where the client has left. */
export function writeAnswer(reply: FastifyReply, answer: RawAnswer): void {
  reply.hijack();
  writeRaw(reply.raw, reply.request, answer);
}

/** Sockets that close after the answer in progress. */
const closing = new WeakSet<Duplex>();

/** Whether the server already answered the parser's error, as part of the request before it. */
export const isClosing = (socket: Duplex): boolean => closing.has(socket);

/**
 * The request of an answer. A request that Fastify refuses before routing has neither our members nor the
 * server.
 */
interface AnsweredRequest {
  readonly id: string;
  readonly lines?: HeaderLines | null;
  readonly server?: { readonly server: { readonly listening: boolean } } | undefined;
}

const noContent = 204;
const notModified = 304;

export function writeRaw(response: ServerResponse, asked: AnsweredRequest, answer: RawAnswer): void {
  const { status, body } = answer;
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  if (writeHead(response, asked, { ...answer, status, bytes })) response.end(body);
}

/** Writes the head of an answer with a body of `bytes` bytes. False where the client has left. */
export function writeHead(
  response: ServerResponse,
  { id, lines, server }: AnsweredRequest,
  { status, bytes, headers }: Pick<RawAnswer, 'status' | 'headers'> & { readonly bytes: number },
): boolean {
  // where the parser failed in the meantime, the socket already has its answer
  if (response.headersSent || response.destroyed || !response.req.socket.writable) return false;
  const flat: string[] = [
    'x-request-id',
    id,
    'gov-api-version',
    apiVersion,
    'x-content-type-options',
    'nosniff',
  ];
  if (lines !== null && lines !== undefined) flat.push(...lines);
  if (status !== noContent && status !== notModified) {
    // RFC 9110 section 8.6: a status without a body has no Content-Length
    flat.push('content-length', String(bytes));
  }
  if (headers['cache-control'] === undefined) flat.push('cache-control', 'no-store');
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) flat.push(name, value);
  }
  const { req } = response;
  const trace = traceOf(req.headers['traceparent']);
  if (trace !== null) flat.push('traceparent', trace);
  // a kept connection would delay the server's shutdown until its next request
  const isEnding = server?.server.listening === false;
  if (isEnding || (!req.complete && isUnreasonable(req)) || !isPlainlyFramed(req)) {
    flat.push('connection', 'close');
    closing.add(req.socket);
  }
  response.writeHead(status, flat);
  return true;
}

/**
 * Whether every reader agrees where a message ends (RFC 9112 section 6.1): `chunked` and no other coding.
 * Node's parser rejects other codings too, but only after it has emitted the request, as one without a body.
 */
export function isPlainlyFramed({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || /^\s*chunked\s*$/i.test(coding);
}

const traceForm = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(?:-.*)?$/;
const spanStart = randomBytes(4).toString('hex');
let spans = 0;

/** The caller's trace with a span of ours (W3C Trace Context); null for a request outside a valid trace. */
function traceOf(sent: string | string[] | undefined): string | null {
  const [, trace, flags] = typeof sent === 'string' ? (traceForm.exec(sent) ?? []) : [];
  if (trace === undefined || flags === undefined) return null;
  spans = (spans % 0xffffffff) + 1; // never the span of zeros, which is invalid
  return `00-${trace}-${spanStart}${spans.toString(16).padStart(8, '0')}-${flags}`;
}

/**
 * Whether reading the rest of a body costs more than the connection is worth. A smaller rest is read and
 * dropped (for at most `requestTimeoutSeconds`), so that the client sees the answer, not a reset.
 */
function isUnreasonable({ headers }: IncomingMessage): boolean {
  const declared = Number(headers['content-length']);
  return Number.isNaN(declared) || declared > 4 * limits.batchBodyBytes;
}

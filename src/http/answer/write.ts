/**
 * Writes answers. Fastify's reply is bypassed (`hijack`): the body is text or bytes already, and headers are
 * the same few on every answer. Proven by `test/http/transport.test.ts`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { limits } from '../../contract/limits.ts';
import { isPlainlyFramed } from '../admit/negotiate.ts';
import type { HeaderLines } from '../admit/rates.ts';

export const apiVersion = '1.0.0';
export const jsonMediaType = 'application/json; charset=utf-8';

export interface Written {
  readonly status: number;
  readonly body: string | Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** Answers a request once; does nothing where the client is gone. */
export function writeAnswer(reply: FastifyReply, answer: Written): void {
  reply.hijack();
  writeRaw(reply.raw, reply.request, answer);
}

/** Sockets that close after the answer that is on its way. */
const closing = new WeakSet<Duplex>();

/** Whether a fault that the parser finds now was answered already, as part of the request before it. */
export const isClosing = (socket: Duplex): boolean => closing.has(socket);

/** Whom an answer is for. What Fastify refuses before routing has no members of ours, and none of the server. */
interface Asked {
  readonly id: string;
  readonly lines?: HeaderLines | null;
  readonly server?: { readonly server: { readonly listening: boolean } } | undefined;
}

const noContent = 204;
const notModified = 304;

export function writeRaw(response: ServerResponse, asked: Asked, answer: Written): void {
  const { status, body } = answer;
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  if (writeHead(response, asked, { ...answer, status, bytes })) response.end(body);
}

/** The head of an answer whose body has so many bytes. False where there is nobody to answer. */
export function writeHead(
  response: ServerResponse,
  { id, lines, server }: Asked,
  { status, bytes, headers }: Pick<Written, 'status' | 'headers'> & { readonly bytes: number },
): boolean {
  // where the parser found fault meanwhile, the socket has its answer already
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
    // RFC 9110 section 8.6: an answer that has no body by its status has no length either
    flat.push('content-length', String(bytes));
  }
  if (headers['cache-control'] === undefined) flat.push('cache-control', 'no-store');
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) flat.push(name, value);
  }
  const { req } = response;
  // who is answered while the server ends would keep it waiting for a next request
  const isEnding = server?.server.listening === false;
  if (isEnding || (!req.complete && isUnreasonable(req)) || !isPlainlyFramed(req)) {
    flat.push('connection', 'close');
    closing.add(req.socket);
  }
  response.writeHead(status, flat);
  return true;
}

/**
 * Whether the unread rest of a body is not worth reading away to keep the connection. A smaller rest is read
 * and dropped (for `requestTimeoutSeconds` at most), so that the client sees the answer, not a reset.
 */
function isUnreasonable({ headers }: IncomingMessage): boolean {
  const declared = Number(headers['content-length']);
  return Number.isNaN(declared) || declared > 4 * limits.batchBodyBytes;
}

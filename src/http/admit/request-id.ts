/**
 * Request ids (contract A12): the caller's `X-Request-Id` where it is well formed, else one of ours. Ours
 * count up from a random start of the process. An id names a request in logs and grants nothing. Proven by
 * `test/http/transport.test.ts`.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const accepted = /^[A-Za-z0-9._-]{8,64}$/;
const start = randomBytes(6).toString('hex');
let count = 0;

export function requestId(request: IncomingMessage): string {
  const sent = request.headers['x-request-id'];
  if (typeof sent === 'string' && accepted.test(sent)) return sent;
  return newRequestId();
}

/** An id of ours. */
export function newRequestId(): string {
  count += 1;
  return `req-${start}-${count.toString(36)}`;
}

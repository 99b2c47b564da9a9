/**
 * Request ids (contract A12): the caller's `X-Request-Id` where it has the form, else one of our own. Ours
 * count up behind a random start of the process; they name a request in logs and grant nothing.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const accepted = /^[A-Za-z0-9._-]{8,64}$/;
const start = randomBytes(6).toString('hex');
let count = 0;

export function requestId(request: IncomingMessage): string {
  const sent = request.headers['x-request-id'];
  if (typeof sent === 'string' && accepted.test(sent)) return sent;
  count += 1;
  return `req-${start}-${count.toString(36)}`;
}

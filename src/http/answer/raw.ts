/**
 * Answers on a bare socket, where Node gives no response: before there is a request, and in place of an upgrade. Proven by
 * `test/http/transport.test.ts` and `test/http/stream/events.engines.long.test.ts`.
 */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { GovError } from '../../contract/problems.ts';
import { renderProblem } from './problem.ts';
import { apiVersion } from './write.ts';

/** Writes a problem as a whole HTTP/1.1 answer and ends the connection. `written` runs after it. */
export function endWithProblem(
  socket: Duplex,
  error: GovError,
  { requestId, base, written }: { requestId: string; base: string; written?: () => void },
): void {
  const { status, body, headers } = renderProblem(error, { requestId, base });
  const lines = Object.entries({
    ...headers,
    date: new Date().toUTCString(),
    'x-request-id': requestId,
    'gov-api-version': apiVersion,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}`);
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'), written);
}

/**
 * What a request over Streamable HTTP must be before its body counts: local, JSON, unpacked, and with headers that agree
 * with the body (revision 2026-07-28). Another layer may route by the headers, but the server runs the body.
 * Tested by `test/cli/commands/mcp/http.test.ts`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { ClientMessage } from '../../core/mcp/message.ts';

/** A refusal before the body was judged. */
export interface HttpFault {
  readonly status: number;
  readonly code: number;
  readonly detail: string;
}

const HEADER_MISMATCH = -32_020;
const INVALID_REQUEST = -32_600;
const local = /^(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]{1,5})?$/i;

/** A page in a browser reaches the loopback under its own host name (DNS rebinding), or shows its origin. */
export function originFault({ host = '', origin }: IncomingHttpHeaders): HttpFault | undefined {
  const isLocal =
    local.test(host) && (origin === undefined || local.test(origin.replace(/^https?:\/\//i, '')));
  return isLocal
    ? undefined
    : {
        status: 403,
        code: INVALID_REQUEST,
        detail: 'expected a request from this machine, by its local name',
      };
}

export function bodyFault(headers: IncomingHttpHeaders): HttpFault | undefined {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';');
  const charset = parameters.map((each) => each.trim()).find((each) => each.startsWith('charset='));
  const isUtf8 = charset === undefined || /^charset="?utf-8"?$/.test(charset);
  if (type.trim() !== 'application/json' || !isUtf8)
    return { status: 415, code: INVALID_REQUEST, detail: 'expected application/json in UTF-8' };
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    return { status: 415, code: INVALID_REQUEST, detail: `expected an unpacked body, got ${encoding}` };
  return undefined;
}

/** Returns the header that names something else than the body; undefined if all that are there agree. */
export function headerFault(message: ClientMessage, headers: IncomingHttpHeaders): HttpFault | undefined {
  if (message.kind === 'refused' || message.kind === 'response') return undefined;
  const isCall = message.kind === 'call';
  const said: readonly (readonly [header: string, body: string | undefined])[] = [
    ['mcp-method', message.envelope.text('method')],
    ['mcp-name', isCall ? message.name : undefined],
    ['mcp-protocol-version', isCall && message.era === '2026' ? revisionOf(message.meta) : undefined],
  ];
  for (const [header, body] of said) {
    const given = headers[header];
    if (given === undefined || body === undefined || decoded(String(given)) === body) continue;
    const detail = `the header ${header} says ${JSON.stringify(String(given).slice(0, 128))}, the body ${JSON.stringify(body.slice(0, 128))}`;
    return { status: 400, code: HEADER_MISMATCH, detail };
  }
  return undefined;
}

const revisionOf = (meta: Readonly<Record<string, unknown>>): string =>
  String(meta['io.modelcontextprotocol/protocolVersion']);

/** A header that is not visible ASCII is spelled `=?base64?…?=`. */
function decoded(header: string): string {
  const [, base64] = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/.exec(header) ?? [];
  return base64 === undefined ? header : Buffer.from(base64, 'base64').toString();
}

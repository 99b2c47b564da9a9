/**
 * Messages of a server, on their way to the client: joins answers with the requests they answer, and reads the few that
 * matter to later decisions (who the server says it is, its tool definitions). Server controlled.
 * Tested by `test/cli/commands/mcp/stdio.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { limits } from '../../contract/limits.ts';
import { isObject } from '../../core/json/object.ts';
import { failure } from '../../core/mcp/answer.ts';
import { definitionsIn } from '../../core/mcp/definition.ts';
import { Envelope, looseBounds } from '../../core/mcp/envelope.ts';
import type { Peers } from './gate.ts';
import type { OpenRequests } from './open-calls.ts';
import type { Pins } from './pins.ts';

/** What becomes of a message: it goes to the client as it came, another one goes in its place, or none. `own`: the proxy asked. */
export type MessageAction =
  | { readonly do: 'forward' | 'own' }
  | { readonly do: 'replace'; readonly text: string }
  | { readonly do: 'drop'; readonly why: string };

export interface ServerMessageContext {
  readonly open: OpenRequests;
  readonly pins: Pins;
  /** Called with what a handshake says. */
  readonly learn: (peers: Peers) => void;
}

const INTERNAL_ERROR = -32603;

/** Judges one message of the server, and ends the call that it answers. Never throws. */
export function passServerMessage(
  bytes: Uint8Array,
  { open, pins, learn }: ServerMessageContext,
): MessageAction {
  let envelope: Envelope;
  try {
    envelope = new Envelope(bytes);
  } catch (fault) {
    return { do: 'drop', why: detailOf(fault) };
  }
  if (envelope.text('jsonrpc') !== '2.0') return { do: 'drop', why: 'expected "jsonrpc": "2.0"' };
  if (envelope.has('method')) {
    open.notified(envelope);
    return { do: 'forward' };
  }
  const { id } = envelope;
  const asked = id === undefined ? undefined : open.get(id);
  if (id === undefined || asked === undefined) return { do: 'forward' };
  if (asked.call?.isForwarded === false) {
    return { do: 'drop', why: `it answers the call ${id.slice(0, 64)}, which was not sent to the server` };
  }
  open.remove(id);
  if (asked.own !== undefined) {
    asked.own.resolve(envelope);
    return { do: 'own' };
  }
  asked.call?.end({ how: 'answered', answer: envelope });
  try {
    if (asked.method === 'initialize' || asked.method === 'server/discover') learn(peersIn(envelope));
    if (asked.method === 'tools/list') {
      learn(peersIn(envelope));
      pins.list(definitionsIn(envelope));
    }
  } catch (fault) {
    const text = `the server's answer to ${asked.method} cannot be read safely: ${detailOf(fault)}`;
    return { do: 'replace', text: failure(id, INTERNAL_ERROR, text) };
  }
  return { do: 'forward' };
}

/** The server's name for itself and its revision, as a handshake or a result of 2026 says them. */
function peersIn(envelope: Envelope): Peers {
  const result = envelope.value('result', looseBounds);
  if (!isObject(result)) return {};
  const { serverInfo, protocolVersion, _meta: meta } = result;
  const server =
    namedIn(serverInfo) ?? namedIn(isObject(meta) ? meta['io.modelcontextprotocol/serverInfo'] : null);
  return {
    ...(server === undefined ? {} : { server }),
    ...(typeof protocolVersion === 'string' ? { protocolVersion } : {}),
  };
}

/** Name and version of an `Implementation`. */
export function namedIn(info: unknown): Peers['server'] {
  if (!isObject(info) || typeof info['name'] !== 'string') return undefined;
  const short = (text: string): string => text.slice(0, limits.toolNameChars).toWellFormed();
  const { name, version } = info;
  return { name: short(name), ...(typeof version === 'string' ? { version: short(version) } : {}) };
}

const detailOf = (fault: unknown): string => {
  if (fault instanceof GovError) return fault.message;
  throw fault;
};

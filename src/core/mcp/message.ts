/**
 * What a message of an MCP client asks for: a tool call, which needs a decision, or anything else. Eras: `2025` (revisions
 * 2025-06-18 and 2025-11-25, `initialize`), `2026` (revision 2026-07-28: each request names its revision in `_meta`, and a
 * result may ask for input). Attacker controlled. Tested by `test/core/mcp/message.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { limits } from '../../contract/limits.ts';
import type { JsonObject } from '../json/canonical.ts';
import { isObject } from '../json/object.ts';
import { defaultBounds } from '../json/parse.ts';
import { Envelope, refuseAmbiguous } from './envelope.ts';

export interface CallMessage {
  readonly kind: 'call';
  readonly envelope: Envelope;
  /** JSON text, as in `Envelope.id`. */
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  readonly meta: JsonObject;
  readonly era: '2025' | '2026';
  /** Whether the client can show a question to its user. */
  readonly elicits: boolean;
  /** The answer to an earlier question of this proxy: never a permission. */
  readonly answered: 'accepted' | 'refused' | undefined;
  /** The bytes to forward: those of the client, without an answer that was meant for this proxy. */
  readonly forwarded: Uint8Array;
}

export type ClientMessage =
  | CallMessage
  | { readonly kind: 'request'; readonly envelope: Envelope; readonly id: string; readonly method: string }
  | { readonly kind: 'cancel'; readonly envelope: Envelope; readonly requestId: string | undefined }
  | { readonly kind: 'notification' | 'response'; readonly envelope: Envelope }
  | RefusedMessage;

/** A message that is not forwarded. `id`: where the answer goes, as JSON text. */
interface RefusedMessage {
  readonly kind: 'refused';
  readonly id: string | null;
  readonly code: number;
  readonly detail: string;
}

/** JSON-RPC 2.0 §5.1. */
const INVALID_REQUEST = -32600;
const PARSE_ERROR = -32700;
const INVALID_PARAMS = -32602;

const ourState = /^gov:(apr_[0-9a-z]{26})$/;

/** Reads one message of a client. Never throws: a message that cannot be judged is `refused`. */
export function readClientMessage(bytes: Uint8Array): ClientMessage {
  let envelope: Envelope;
  try {
    if (isList(bytes)) {
      const detail = 'expected one message, got a batch; no revision from 2025-06-18 on has batches';
      return { kind: 'refused', id: null, code: INVALID_REQUEST, detail };
    }
    envelope = new Envelope(bytes);
  } catch (failure) {
    return { kind: 'refused', id: null, code: PARSE_ERROR, detail: detailOf(failure) };
  }
  return readEnvelope(envelope);
}

function isList(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte > 0x20) return byte === 0x5b;
  return false;
}

function readEnvelope(envelope: Envelope): ClientMessage {
  const { id } = envelope;
  const refuse = (detail: string, code = INVALID_REQUEST): RefusedMessage => ({
    kind: 'refused',
    id: id ?? null,
    code,
    detail,
  });
  if (envelope.text('jsonrpc') !== '2.0') return refuse('expected "jsonrpc": "2.0"');
  if (!envelope.has('method')) {
    const isResponse = envelope.has('result') !== envelope.has('error') && id !== undefined;
    return isResponse
      ? { kind: 'response', envelope }
      : refuse('expected a request, a notification or a response');
  }
  const method = envelope.text('method');
  if (method === undefined) return refuse('expected the method as a text');
  if (envelope.has('id') && id === undefined)
    return refuse('expected an id that is a text or a whole number');
  try {
    if (method === 'tools/call')
      return id === undefined ? refuse('a tool call needs an id') : readCall(envelope, id);
    // a server that folds case would run it
    if (/^\s*tools\/call\s*$/i.test(method))
      return refuse(`expected the method tools/call, got ${JSON.stringify(method)}`);
    if (method === 'notifications/cancelled') return readCancel(envelope);
  } catch (failure) {
    return refuse(detailOf(failure), INVALID_PARAMS);
  }
  return id === undefined ? { kind: 'notification', envelope } : { kind: 'request', envelope, id, method };
}

function readCancel(envelope: Envelope): ClientMessage {
  const params = envelope.value('params', defaultBounds);
  const requestId = isObject(params) ? params['requestId'] : undefined;
  const isId = typeof requestId === 'string' || typeof requestId === 'number';
  return { kind: 'cancel', envelope, requestId: isId ? JSON.stringify(requestId) : undefined };
}

function readCall(envelope: Envelope, id: string): CallMessage {
  const raw = envelope.raw('params');
  if (raw !== undefined && raw.length > limits.mcpCallBytes) {
    throw invalid(`expected a tool call of at most ${limits.mcpCallBytes} bytes, got ${raw.length}`);
  }
  const params = envelope.value('params', defaultBounds);
  if (!isObject(params)) throw invalid('expected params of the tool call as an object');
  refuseAmbiguous(params);
  const { name, arguments: given = {}, _meta: meta = {}, requestState, inputResponses } = params;
  if (typeof name !== 'string' || name === '') throw invalid('expected the name of the tool as a text');
  if (!isObject(given)) throw invalid('expected the arguments of the tool as an object');
  if (!isObject(meta)) throw invalid('expected _meta as an object');
  const revision = meta['io.modelcontextprotocol/protocolVersion'];
  const capabilities = meta['io.modelcontextprotocol/clientCapabilities'];
  const isOurs = typeof requestState === 'string' && ourState.test(requestState);
  return {
    kind: 'call',
    envelope,
    id,
    name,
    arguments: given,
    meta,
    era: typeof revision === 'string' && revision >= '2026' ? '2026' : '2025',
    elicits: isObject(capabilities) && isObject(capabilities['elicitation']),
    answered: isOurs ? answerIn(inputResponses) : undefined,
    forwarded: isOurs ? envelope.withoutParams(['inputResponses', 'requestState']) : envelope.bytes,
  };
}

function answerIn(responses: unknown): 'accepted' | 'refused' {
  const answer = isObject(responses) ? responses['approval'] : undefined;
  return isObject(answer) && answer['action'] === 'accept' ? 'accepted' : 'refused';
}

const invalid = (detail: string): GovError => new GovError('INVALID_JSON', detail);

const detailOf = (failure: unknown): string => {
  if (failure instanceof GovError) return failure.message;
  throw failure;
};

/**
 * Calls whose responses may be larger than memory: the body arrives piece by piece.
 * Tested by `test/client/download.test.ts` and `test/client/open.test.ts`.
 */
import { limits } from '../contract/limits.ts';
import type { Operation } from '../contract/operation.ts';
import { table, type Table } from '../contract/table.ts';
import {
  credentialHeaders,
  pathOf,
  problemOf,
  type CallInput,
  type Client,
  type UncheckedInput,
} from './create.ts';
import { type GovApiError, GovNetworkError } from './errors.ts';
import { retrying } from './retry.ts';
import type { OpenReply } from './transport.ts';
import { agentHeaders, elapsedMs } from './runtime.ts';
import { timerMs } from './timer.ts';

interface OpenOptions {
  readonly input: UncheckedInput;
  readonly headers: Readonly<Record<string, string>>;
  /** Statuses whose body the caller takes; any other one is thrown. */
  readonly accepted: readonly number[];
  readonly signal?: AbortSignal | undefined;
}

/** Sends one request, once. Errors: `GovApiError`, `GovNetworkError`, or the signal's reason. */
export async function openReply(
  { connection, options }: Client,
  row: Operation,
  { input, headers, accepted, signal = options.signal }: OpenOptions,
): Promise<OpenReply> {
  const path = pathOf(row, input);
  const url = connection.base.origin + connection.fullPath(path);
  options.observe?.({ kind: 'request', method: row.method, url, bytes: 0 });
  const startedAt = elapsedMs();
  const reply = await connection.stream({
    method: row.method,
    path,
    headers: {
      'accept-encoding': 'identity',
      ...agentHeaders(options),
      ...credentialHeaders(options),
      ...headers,
    },
    body: undefined,
    timeoutMs: timerMs(options.timeoutMs ?? limits.clientTimeoutSeconds * 1000),
    signal,
  });
  const ms = elapsedMs() - startedAt;
  options.observe?.({ kind: 'response', status: reply.status, ms, requestId: reply.headers['x-request-id'] });
  if (!accepted.includes(reply.status)) throw await refusalOf(reply);
  return reply;
}

async function refusalOf({ status, headers, chunks }: OpenReply): Promise<GovApiError> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    read.push(chunk);
    size += chunk.length;
    if (size > limits.bodyBytes) break;
  }
  return problemOf({ status, headers, bytes: Buffer.concat(read) });
}

/** A bundle that is arriving. */
export interface OpenBundle {
  /** Leaving the loop closes the connection. Throws `GovNetworkError` where the bundle breaks off or is too large. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * Asks for a bundle of any size. A request without a response is repeated like any call; a bundle that breaks off is not.
 * Errors: those of a call.
 */
export async function openBundle(
  client: Client,
  input: CallInput<Table['getProofBundle']>,
): Promise<OpenBundle> {
  const signal = input.signal ?? client.options.signal;
  const opening = {
    input: input as UncheckedInput, // checked by its type
    headers: { accept: 'application/json, application/problem+json' },
    accepted: [200],
    signal,
  };
  const open = (): Promise<OpenReply> => openReply(client, table.getProofBundle, opening);
  const { chunks } = await retrying(client.options, signal, open);
  return { chunks: bounded(chunks) };
}

async function* bounded(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > limits.bundleBytes) {
      const detail = `expected a bundle of at most ${limits.bundleBytes} bytes, got more`;
      throw new GovNetworkError('RESPONSE_TOO_LARGE', detail);
    }
    yield chunk;
  }
}

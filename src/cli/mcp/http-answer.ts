/**
 * Bodies of a server over Streamable HTTP, read with bounds: one message, or a stream of events; and the answer to a request
 * that the proxy sends itself. Server controlled. Tested by `test/cli/commands/mcp/http.test.ts`.
 */
import type { IncomingMessage } from 'node:http';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { Envelope } from '../../core/mcp/envelope.ts';
import { ListError } from './listing.ts';
import { dataOf, EventSplitter } from './sse.ts';

/** The media type of a body, without parameters. Throws for a packed body, which cannot be inspected as it arrives. */
export function typeOf(incoming: IncomingMessage): string | undefined {
  if ((incoming.headers['content-encoding'] ?? 'identity') !== 'identity') {
    incoming.destroy();
    throw new Error('it packed the body, which was not asked for');
  }
  return (incoming.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
}

/** A whole body. Rejects if the server breaks off, or sends too much. */
export async function bytesOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limits.mcpMessageBytes)
      throw new Error(`its answer has more than ${limits.mcpMessageBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** Events with their bytes. One without its blank line does not count. */
export async function* eventsOf(incoming: IncomingMessage): AsyncGenerator<Buffer, void, undefined> {
  const splitter = new EventSplitter();
  for await (const chunk of incoming as AsyncIterable<Buffer>) yield* splitter.push(chunk);
}

/** Returns the answer to the request `id`. Rejects with ListError if the body has none. */
export async function answerIn(incoming: IncomingMessage, id: string): Promise<Envelope> {
  try {
    for await (const message of messagesOf(incoming)) {
      const envelope = new Envelope(message);
      if (!envelope.has('method') && envelope.id === id) return envelope;
    }
  } catch (fault) {
    if (!(fault instanceof GovError)) throw fault;
    throw new ListError(`answered tools/list with what cannot be read safely: ${fault.message}`);
  } finally {
    incoming.destroy();
  }
  throw new ListError(`gave no answer to tools/list (status ${incoming.statusCode})`);
}

async function* messagesOf(incoming: IncomingMessage): AsyncGenerator<Buffer, void, undefined> {
  const type = typeOf(incoming);
  if (type === 'application/json') yield await bytesOf(incoming);
  if (type !== 'text/event-stream') return;
  for await (const event of eventsOf(incoming)) {
    const data = dataOf(event);
    if (data !== '') yield Buffer.from(data);
  }
}

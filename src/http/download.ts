/**
 * Writes an answer while it is read: the next chunk is asked for once the client took the last one, so that a download
 * holds a chunk or two in memory, however long it is. A client that takes too little is cut as everywhere (`unsent.ts`);
 * one that is cut asks for the rest by a range. Proven by `test/http/exports.test.ts`.
 */
import { once } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { chunkBytes } from '../service/artifacts.ts';
import type { Streamed } from '../service/call.ts';
import { writeHead } from './answer.ts';
import type { Route } from './route.ts';

/** Rejects where nothing was written yet. What fails later ends the connection, which the client sees. */
export async function streamAnswer(
  { services, unsent, id }: Route,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  { status, headers, bytes, chunks }: Streamed,
): Promise<void> {
  const response = reply.raw;
  unsent.check(request);
  if (bytes === 0 || request.method === 'HEAD') {
    reply.hijack();
    if (writeHead(response, request, { status, headers, bytes })) response.end();
    return;
  }
  const parts = chunks()[Symbol.asyncIterator]();
  // before the head, so that what cannot be read at all is a problem like any other
  let next = await parts.next();
  reply.hijack();
  try {
    if (!writeHead(response, request, { status, headers, bytes })) return;
    unsent.holdStream(request, response, { bytes, held: 2 * chunkBytes });
    while (next.done !== true && !response.destroyed) {
      if (!response.write(next.value)) await drained(response);
      next = await parts.next();
    }
    response.end();
  } catch (error) {
    if (!response.destroyed)
      services.log.error({ err: error, requestId: request.id, operation: id }, 'a download broke off');
    response.destroy();
  } finally {
    await parts.return?.();
  }
}

/** Resolves once more may be written, or nobody is there any more. */
async function drained(response: FastifyReply['raw']): Promise<void> {
  if (response.destroyed) return;
  const left = new AbortController();
  const gone = (): void => left.abort();
  response.once('close', gone);
  await once(response, 'drain', { signal: left.signal }).catch(() => {});
  response.off('close', gone);
}

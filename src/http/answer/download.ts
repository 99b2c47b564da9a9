/**
 * Writes a download chunk by chunk, as fast as the client reads, so that one or two chunks stay in memory.
 * `unsent.ts` closes the connection of a client that reads too slowly; the client then asks for the rest by a
 * range. A download ends within seconds of its credential, its project or its export. Proven by
 * `test/http/answer/exports.test.ts` and `test/http/answer/download-ended.long.test.ts`.
 */
import { once } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { OperationId } from '../../contract/table.ts';
import { chunkBytes } from '../../service/hosting/artifacts.ts';
import type { StreamResponse } from '../../service/call/answer.ts';
import type { Services } from '../../service/port/services.ts';
import { writeHead } from './write.ts';
import type { UnsentBytes } from './unsent.ts';

interface Download {
  readonly services: Pick<Services, 'log'>;
  readonly unsent: UnsentBytes;
  readonly id: OperationId;
}

/**
 * Writes the answer. Rejects only before the first byte; a later error ends the connection, which the client
 * notices.
 */
export async function streamAnswer(
  { services, unsent, id }: Download,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  { status, headers, bytes, chunks, still }: StreamResponse,
): Promise<void> {
  const response = reply.raw;
  unsent.check(request);
  if (bytes === 0 || request.method === 'HEAD') {
    reply.hijack();
    if (writeHead(response, request, { status, headers, bytes })) response.end();
    return;
  }
  const parts = chunks()[Symbol.asyncIterator]();
  // reads the first chunk before the head, so that an unreadable artifact becomes an ordinary problem
  let next = await parts.next();
  reply.hijack();
  const ended = (error: GovError): void => {
    if (response.destroyed) return;
    services.log.warn({ err: error, requestId: request.id, operation: id }, 'a download was ended');
    response.destroy();
  };
  const unwatch = watch(still, ended);
  try {
    if (!writeHead(response, request, { status, headers, bytes })) return;
    unsent.holdStream(request, response, { bytes, held: 2 * chunkBytes });
    while (next.done !== true && !response.destroyed) {
      if (!response.write(next.value)) await drained(response);
      next = await parts.next();
    }
    response.end();
  } catch (error) {
    if (isEnd(error)) ended(error);
    else if (!response.destroyed)
      services.log.error({ err: error, requestId: request.id, operation: id }, 'a download broke off');
    response.destroy();
  } finally {
    unwatch();
    await parts.return?.();
  }
}

/**
 * Checks repeatedly whether the download may continue, however slowly the client reads. An error other than a
 * refusal is ignored until the next check. The returned function stops it.
 */
function watch(still: () => Promise<void>, end: (error: GovError) => void): () => void {
  let asking = false;
  const ask = async (): Promise<void> => {
    if (asking) return;
    asking = true;
    try {
      await still();
    } catch (error) {
      if (isEnd(error)) end(error);
    } finally {
      asking = false;
    }
  };
  const timer = setInterval(() => void ask(), limits.downloadRecheckSeconds * 1000);
  timer.unref();
  return () => clearInterval(timer);
}

const endings: ReadonlySet<number> = new Set([401, 403, 404, 409, 410]);
const isEnd = (error: unknown): error is GovError => error instanceof GovError && endings.has(error.status);

/** Resolves once the response accepts more bytes or the client has left. */
async function drained(response: FastifyReply['raw']): Promise<void> {
  if (response.destroyed) return;
  const left = new AbortController();
  const gone = (): void => left.abort();
  response.once('close', gone);
  await once(response, 'drain', { signal: left.signal }).catch(() => {});
  response.off('close', gone);
}

/** The bytes of a file on this disk. `test/cli/commands/proofs/verify.test.ts` holds what may be given for one. */
import { closeSync, createReadStream, openSync, read, statSync } from 'node:fs';
import { addAbortSignal } from 'node:stream';
import { promisify } from 'node:util';

const chunkBytes = 64 * 1024;
const readInto = promisify(read);

/** Errors: as `node:fs` has them; an `AbortError`. A regular file is read without a stream, which is 4 ms to load. */
export async function* fileChunks(
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  if (!statSync(path).isFile()) {
    yield* addAbortSignal(signal, createReadStream(path)) as AsyncIterable<Buffer>;
    return;
  }
  const file = openSync(path, 'r');
  try {
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead, buffer } = await readInto(file, Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, null);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    closeSync(file);
  }
}

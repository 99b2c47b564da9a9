/**
 * The streams, environment and clock of a command, which tests replace. Writing waits for a slow reader. If the reader
 * closes the pipe (EPIPE), the command ends quietly; any other write error, such as a full disk, is a failure.
 * Tested by `test/cli/pipes.test.ts`.
 */
import { addAbortSignal } from 'node:stream';
import type { Readable, Writable } from 'node:stream';
import { CliError, exit } from '../program/exit.ts';
import { whyUnwritable } from '../../files/write-fault.ts';

export interface OutputStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}
interface InputStream extends Readable {
  readonly isTTY?: boolean;
}

export interface Io {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The file with an administrator's locks, if it is not `/etc/gov/policy.json`. */
  readonly policyFile?: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Opens standard input on first use: that takes 5 ms, and few commands read it. */
export const processIo = (): Io => ({
  get stdin() {
    return process.stdin;
  },
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
  now: Date.now,
});

/** The reader closed the pipe. This ends the output and is not an error. */
export class OutputClosedError extends Error {
  override readonly name = 'OutputClosed';
}

const isBrokenPipe = (cause: unknown): boolean =>
  cause instanceof Error &&
  'code' in cause &&
  (cause.code === 'EPIPE' || cause.code === 'ERR_STREAM_DESTROYED');

/** Writes to one stream in order, and waits for a slow reader. */
export class Writer {
  readonly #stream: OutputStream;
  #failure: Error | undefined;
  #waiting: (() => void)[] = [];
  #dropping = false;
  /** Called before each chunk: erases the progress line. */
  beforeWrite: () => void = () => {};

  /** With `ignore errors`, a failed write is dropped: a remark must not end the work. */
  constructor(stream: OutputStream, errors: 'report' | 'ignore errors' = 'report') {
    this.#stream = stream;
    stream.on('error', (cause: Error) => {
      if (errors === 'ignore errors') return this.#drop();
      this.#failure ??= isBrokenPipe(cause)
        ? new OutputClosedError('the reader closed the pipe', { cause })
        : new CliError(exit.error, `standard output: ${whyUnwritable(cause)}`, {
            code: 'WRITE_FAILED',
            cause,
          });
      this.#wake();
    });
    stream.on('drain', () => this.#wake());
  }

  #drop(): void {
    this.#dropping = true;
    this.#wake();
  }

  /** Rejects with `OutputClosedError`, or with exit 1 for any other write error. */
  async write(chunk: string | Uint8Array): Promise<void> {
    this.#check();
    if (this.#dropping) return;
    this.beforeWrite();
    if (this.#stream.write(chunk)) return;
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#check();
  }

  /** Resolves after everything written has left the process. */
  async flush(): Promise<void> {
    this.#check();
    if (this.#dropping) return;
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      this.#stream.write('', () => resolve());
    });
    this.#check();
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export interface ReadOptions {
  readonly maxBytes: number;
  /** Name of the stream for messages; default: standard input. */
  readonly name?: string;
  /** Ends the reading. Without it a terminal could block permanently. */
  readonly signal: AbortSignal;
}

/** Reads a whole stream. Throws a RangeError beyond `maxBytes`, an AbortError if the signal fires. */
export async function readAll(
  stream: Readable,
  { maxBytes, signal, name = 'standard input' }: ReadOptions,
): Promise<Uint8Array> {
  addAbortSignal(signal, stream);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer | string>) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    size += bytes.length;
    if (size > maxBytes) throw new RangeError(`${name}: expected at most ${maxBytes} bytes, got more`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks, size);
}

/**
 * Buffers the bytes of an artifact into chunks and writes them. Proven by
 * `test/service/exports/handlers.test.ts` and `test/service/exports/output.test.ts`.
 */
import { createHash } from 'node:crypto';
import { chunkBytes } from '../hosting/artifacts.ts';
import type { ExportOutput, TaskHost } from '../call/work.ts';

/** Collects texts into chunks. One chunk is written while the next is filled; two buffers alternate. */
export class Output {
  readonly #write: TaskHost['write'];
  readonly #hash = createHash('sha256');
  #chunk: Buffer = Buffer.allocUnsafeSlow(chunkBytes);
  #used = 0;
  #full: Uint8Array[] = [];
  #spare: Buffer[] = [];
  #bytes = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(write: TaskHost['write']) {
    this.#write = write;
  }

  /** Call `flush` between pages, so that the buffer stays small. */
  add(text: string): void {
    if (text.length * utf8PerUnit > chunkBytes - this.#used) this.#close();
    if (text.length * utf8PerUnit <= chunkBytes) {
      this.#used += this.#chunk.write(text, this.#used);
      return;
    }
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length; at += chunkBytes) this.#full.push(bytes.slice(at, at + chunkBytes));
  }

  #close(): void {
    if (this.#used === 0) return;
    this.#full.push(this.#chunk.subarray(0, this.#used));
    this.#chunk = this.#spare.pop() ?? Buffer.allocUnsafeSlow(chunkBytes);
    this.#used = 0;
  }

  /** Writes full chunks. */
  async flush(): Promise<void> {
    const full = this.#full;
    this.#full = [];
    for (const bytes of full) {
      this.#hash.update(bytes);
      this.#bytes += bytes.length;
      await this.#writing;
      this.#writing = this.#write(bytes).then((given) => this.#keep(given));
      // the error is thrown where the write is awaited
      this.#writing.catch(() => {});
    }
  }

  #keep(given: Uint8Array | void): void {
    if (given?.buffer.byteLength === chunkBytes) this.#spare.push(Buffer.from(given.buffer));
  }

  /** Writes the rest and returns size and digest of the whole artifact. */
  async end(): Promise<Pick<ExportOutput, 'sizeBytes' | 'digest'>> {
    this.#close();
    await this.flush();
    await this.#writing;
    return { sizeBytes: this.#bytes, digest: this.#hash.digest() };
  }
}

/** The most UTF-8 bytes for one UTF-16 unit. */
const utf8PerUnit = 3;

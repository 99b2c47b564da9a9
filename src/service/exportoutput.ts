/**
 * The bytes of an artifact on their way to whoever keeps them, in chunks. Proven by `test/service/exports.test.ts` and
 * `test/service/exportoutput.test.ts`.
 */
import { createHash } from 'node:crypto';
import { chunkBytes } from './artifacts.ts';
import type { ExportOutput, TaskHost } from './work.ts';

/** Gathers texts into chunks, each in memory where nothing else lies. */
export class Chunks {
  readonly #memory: () => Buffer;
  #chunk: Buffer;
  #used = 0;
  #full: Uint8Array[] = [];

  /** `memory`: where the next chunk is gathered, of `chunkBytes`. */
  constructor(memory: () => Buffer) {
    this.#memory = memory;
    this.#chunk = memory();
  }

  /** Bytes that still fit in the chunk that is being gathered. */
  get room(): number {
    return chunkBytes - this.#used;
  }

  add(text: string): void {
    if (text.length * utf8PerUnit > this.room) this.#close();
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
    this.#chunk = this.#memory();
    this.#used = 0;
  }

  /** The chunks that are full, once. */
  full(): Uint8Array[] {
    const full = this.#full;
    this.#full = [];
    return full;
  }

  /** All that is left; nothing is added after it. */
  last(): Uint8Array[] {
    if (this.#used > 0) this.#full.push(this.#chunk.subarray(0, this.#used));
    this.#used = 0;
    return this.full();
  }
}

export const newMemory = (): Buffer => Buffer.allocUnsafeSlow(chunkBytes);

/** Chunks that are held for what is gathered next, at most. */
const heldSpare = 4;

/** Writes what is gathered; one chunk is being written while the next is gathered, in memory that goes to and fro. */
export class Output {
  readonly #write: TaskHost['write'];
  readonly #hash = createHash('sha256');
  readonly #spare: Buffer[] = [];
  #chunks = new Chunks(() => this.memory());
  #bytes = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(write: TaskHost['write']) {
    this.#write = write;
  }

  /** Of `chunkBytes`. */
  memory(): Buffer {
    return this.#spare.pop() ?? newMemory();
  }

  /** `flush` is awaited between pages, so what is gathered stays small. */
  add(text: string): void {
    this.#chunks.add(text);
  }

  /** Writes the chunks that are full. */
  async flush(): Promise<void> {
    for (const bytes of this.#chunks.full()) await this.#put(bytes);
  }

  /** Writes what was gathered elsewhere, in memory where nothing else lies, behind all that was added. */
  async give(chunks: readonly Uint8Array[]): Promise<void> {
    const before = this.#chunks.last();
    if (before.length > 0) this.#chunks = new Chunks(() => this.memory());
    for (const bytes of [...before, ...chunks]) await this.#put(bytes);
  }

  async #put(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
    await this.#writing;
    this.#writing = this.#write(bytes).then((given) => this.#keep(given));
    // told where it is waited for
    this.#writing.catch(() => {});
  }

  #keep(given: Uint8Array | void): void {
    if (given?.buffer.byteLength === chunkBytes && this.#spare.length < heldSpare)
      this.#spare.push(Buffer.from(given.buffer));
  }

  /** What was written in all. */
  async end(): Promise<Pick<ExportOutput, 'sizeBytes' | 'digest'>> {
    await this.give([]);
    await this.#writing;
    return { sizeBytes: this.#bytes, digest: this.#hash.digest() };
  }
}

/** Most bytes of UTF-8 for a unit of UTF-16. */
const utf8PerUnit = 3;

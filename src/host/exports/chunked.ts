/**
 * Export artifacts as database rows, in chunks of 1 MiB. The transaction that completes an export stores the
 * name of its artifact. Chunks with other names belong to failed attempts. Proven by
 * `test/host/exports/artifacts.test.ts`.
 */
import {
  artifactLost,
  chunkBytes,
  type ArtifactOf,
  type Artifacts,
  type ArtifactWriter,
} from '../../service/hosting/artifacts.ts';
import type { ExportChunks } from '../../store/postgres/store.ts';

export const chunkArtifacts = (
  chunks: ExportChunks,
  randomBytes: (size: number) => Uint8Array,
): Artifacts => ({
  // a write reports a full disk of the database
  freeBytes: () => Promise.resolve(null),
  remove: (of) => chunks.remove(of),
  create: async (of) => {
    await chunks.remove(of);
    return new ChunkWriter(chunks, of, Buffer.from(randomBytes(8)).toString('hex'));
  },
  async *read(of, { artifact, sizeBytes }, { from, to }) {
    if ((await chunks.size({ ...of, artifact })) !== sizeBytes) throw artifactLost(of);
    for (let at = from; at < to;) {
      const n = Math.floor(at / chunkBytes);
      const bytes = await chunks.read({ ...of, artifact, n });
      const start = at - n * chunkBytes;
      const part = bytes?.subarray(start, Math.min(bytes.length, to - n * chunkBytes)) ?? new Uint8Array();
      if (part.length === 0) throw artifactLost(of);
      yield part;
      at += part.length;
    }
  },
});

class ChunkWriter implements ArtifactWriter {
  readonly #chunks: ExportChunks;
  readonly #of: ArtifactOf;
  readonly #artifact: string;
  /** Every chunk except the last is full, so that the offset of a byte gives its chunk. */
  #chunk = Buffer.alloc(chunkBytes);
  #filled = 0;
  #n = 0;

  constructor(chunks: ExportChunks, of: ArtifactOf, artifact: string) {
    this.#chunks = chunks;
    this.#of = of;
    this.#artifact = artifact;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const taken = Math.min(bytes.length - at, chunkBytes - this.#filled);
      this.#chunk.set(bytes.subarray(at, at + taken), this.#filled);
      this.#filled += taken;
      at += taken;
      if (this.#filled === chunkBytes) await this.#flush();
    }
  }

  async #flush(): Promise<void> {
    if (this.#filled === 0) return;
    const place = { ...this.#of, artifact: this.#artifact, n: this.#n };
    await this.#chunks.add(place, this.#chunk.subarray(0, this.#filled));
    this.#n += 1;
    this.#filled = 0;
  }

  async finish(): Promise<string> {
    await this.#flush();
    return this.#artifact;
  }

  abort(): Promise<void> {
    return this.#chunks.remove({ ...this.#of, artifact: this.#artifact });
  }
}

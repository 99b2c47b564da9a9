/** Where artifacts of exports lie: files of a directory, or rows of a database (`host/fileartifacts.ts`, `chunkartifacts.ts`). */

/** Whose artifact it is. */
export interface ArtifactOf {
  readonly projectId: string;
  readonly exportId: string;
}

export interface ArtifactWriter {
  /** Resolves once it may be given the next. STORAGE_FULL. */
  write(bytes: Uint8Array): Promise<void>;
  /** Answers the name of the artifact, which is durable then. STORAGE_FULL. */
  finish(): Promise<string>;
  /** Leaves nothing. */
  abort(): Promise<void>;
}

/** Bytes from `from` up to and without `to`. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Guarantees: what `finish` answered can be read whole until it is removed; of anything else nothing can be read. A
 * crash leaves parts that no name leads to, which the next `create` or `remove` of the same export takes away.
 */
export interface Artifacts {
  /** Removes what attempts before left. */
  create(of: ArtifactOf): Promise<ArtifactWriter>;
  /** In chunks of at most 1 MiB. STORAGE_FAULT where it is not there, or shorter. */
  read(of: ArtifactOf, artifact: string, range: ByteRange): AsyncIterable<Uint8Array>;
  /** All of the export; nothing where there is nothing. */
  remove(of: ArtifactOf): Promise<void>;
}

/** Bytes of a chunk. */
export const chunkBytes = 1024 * 1024;

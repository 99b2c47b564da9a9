/**
 * Where artifacts of exports lie: files of a directory, or rows of a database (`src/host/exports/files.ts`, `src/host/exports/chunked.ts`),
 * sealed where there is a master key (`src/host/exports/sealed.ts`).
 */
import { GovError } from '../../contract/problems.ts';

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
  /** Leaves nothing. Once the last write is settled. */
  abort(): Promise<void>;
}

/** Bytes from `from` up to and without `to`. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** As it was finished: what `finish` answered, and how many bytes were written. */
export interface MadeArtifact {
  readonly artifact: string;
  readonly sizeBytes: number;
}

/**
 * Guarantees: what `finish` answered can be read whole until it is removed; of anything else nothing can be read. A
 * crash leaves parts that no name leads to, which the next `create` or `remove` of the same export takes away.
 */
export interface Artifacts {
  /** Of the disk below, which recording may share; null where it is not seen from here. */
  freeBytes(): Promise<number | null>;
  /** Removes what attempts before left: of an export that is not complete. */
  create(of: ArtifactOf): Promise<ArtifactWriter>;
  /** In chunks of at most 1 MiB. EXPORT_FAILED where it is not there as it was written, told before any of it is answered. */
  read(of: ArtifactOf, made: MadeArtifact, range: ByteRange): AsyncIterable<Uint8Array>;
  /** All of the export; nothing where there is nothing. */
  remove(of: ArtifactOf): Promise<void>;
}

/** Nothing brings it back, so nobody should ask again. */
export function artifactLost({ exportId }: ArtifactOf, cause?: unknown): GovError {
  const detail = `the artifact of ${exportId} is not there as it was written; create the export again`;
  const errors = [{ pointer: '/exportId', in: 'path', code: 'EXPORT_FAILED', detail }] as const;
  return new GovError('EXPORT_FAILED', detail, { errors: [...errors], cause });
}

/** Bytes of a chunk. */
export const chunkBytes = 1024 * 1024;

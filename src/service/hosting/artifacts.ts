/**
 * Storage of export artifacts: files (`src/host/exports/files.ts`) or rows of a database
 * (`src/host/exports/chunked.ts`), sealed where there is a master key (`src/host/exports/sealed.ts`). Proven
 * by `test/host/exports/artifacts.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';

/** The export of an artifact. */
export interface ArtifactOf {
  readonly projectId: string;
  readonly exportId: string;
}

export interface ArtifactWriter {
  /** Resolves when the writer can take more bytes. Rejects with STORAGE_FULL if the disk is full. */
  write(bytes: Uint8Array): Promise<void>;
  /** Makes the artifact durable and returns its name. STORAGE_FULL. */
  finish(): Promise<string>;
  /** Deletes what was written. Call it after the last write has settled. */
  abort(): Promise<void>;
}

/** Bytes from `from` (included) to `to` (excluded). */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** A finished artifact: the name that `finish` returned, and its size in bytes. */
interface MadeArtifact {
  readonly artifact: string;
  readonly sizeBytes: number;
}

/**
 * Guarantees: an artifact whose name `finish` returned can be read whole until it is removed; nothing else
 * can be read. A crash leaves parts without a name, which the next `create` or `remove` of the same export
 * deletes.
 */
export interface Artifacts {
  /** Free bytes of the disk, which recording may share. Null where the disk is not visible from here. */
  freeBytes(): Promise<number | null>;
  /** Starts an artifact and deletes parts of earlier attempts. Only for an export that is not complete. */
  create(of: ArtifactOf): Promise<ArtifactWriter>;
  /**
   * Reads in chunks of at most 1 MiB. EXPORT_FAILED where the artifact is missing or altered, before the
   * first chunk.
   */
  read(of: ArtifactOf, made: MadeArtifact, range: ByteRange): AsyncIterable<Uint8Array>;
  /** Removes everything of the export; does nothing where there is nothing. */
  remove(of: ArtifactOf): Promise<void>;
}

/** The error for a lost artifact. It is permanent: a repeat of the request cannot succeed. */
export function artifactLost({ exportId }: ArtifactOf, cause?: unknown): GovError {
  const detail = `expected the artifact of ${exportId} as it was written, got none or another; create the export again`;
  const errors = [{ pointer: '/exportId', in: 'path', code: 'EXPORT_FAILED', detail }] as const;
  return new GovError('EXPORT_FAILED', detail, { errors: [...errors], cause });
}

/** Bytes of a chunk. */
export const chunkBytes = 1024 * 1024;

/**
 * `gov log fsck`: the store's check of a plane's data directory, with the signatures of its checkpoints judged
 * by the keys of the plane's own trust file. Proven by `test/store/fsck.test.ts`.
 */
import { accessSync, constants, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { GovError } from '../contract/problems.ts';
import { openCheckpoint, parseTrust } from '../core/checkpoint.ts';
import { parseVerifierKey, verifierKeyText, type VerifierKey } from '../core/note.ts';
import { fsckStore, type FsckReport } from '../store/fsck.ts';
import { storeFiles } from '../store/sqlite/open.ts';

export type { FsckKind, FsckProblem, FsckReport } from '../store/fsck.ts';

export interface HostFsckOptions {
  readonly dataDir: string;
  /** Also every disclosure, metering reference and signature, and the file's own structure. */
  readonly deep?: boolean;
  readonly onProgress?: (progress: { readonly done: number; readonly of: number }) => void;
}

/**
 * Reads only, also while the plane serves; a directory that cannot be written is checked through a copy in the
 * temporary directory. Throws NOT_FOUND where there is no database, CONFLICT or
 * STORAGE_FAULT where it cannot be opened; whatever is wrong with what it holds stands in the report.
 */
export async function fsck(options: HostFsckOptions): Promise<FsckReport> {
  const trustFile = join(options.dataDir, 'trust');
  const keys = existsSync(trustFile) ? parseTrust(readFileSync(trustFile, 'utf8')).keys : null;
  const judged = keys === null ? options : { ...options, judgeNote: noteJudge(keys) };
  const { main } = storeFiles(options.dataDir);
  // SQLite reads a WAL database only where it may make, or finds, the file of its shared memory
  if (!existsSync(main) || existsSync(`${main}-shm`) || isWritable(options.dataDir)) return fsckStore(judged);
  const copy = mkdtempSync(join(tmpdir(), 'gov-fsck-')); // mode 0700
  try {
    copyStore(options.dataDir, copy);
    return await fsckStore({ ...judged, dataDir: copy });
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Copies the databases of a directory that nobody can write; STORAGE_FAULT where that fails. */
function copyStore(from: string, to: string): void {
  const { main, heads } = storeFiles(from);
  for (const path of [main, `${main}-wal`, heads, `${heads}-wal`]) {
    if (!existsSync(path)) continue;
    try {
      copyFileSync(path, join(to, basename(path)));
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new GovError(
        'STORAGE_FAULT',
        `expected room for a copy of the read-only ${path} in ${tmpdir()}, got: ${why}; set TMPDIR to a larger disk`,
        { cause },
      );
    }
  }
}

/** Both logs of a project are signed by the same keys, each under its own origin as key name. */
function noteJudge(keys: readonly VerifierKey[]): (note: string, origin: string) => string | null {
  const named = new Map<string, readonly VerifierKey[]>();
  return (note, origin) => {
    let own = named.get(origin);
    if (own === undefined) {
      own = keys.map((key) => parseVerifierKey(verifierKeyText(origin, key.algorithm, key.publicKey)));
      named.set(origin, own);
    }
    try {
      openCheckpoint(note, own, origin);
      return null;
    } catch (error) {
      if (error instanceof GovError) return error.message;
      throw error;
    }
  };
}

/**
 * `gov log fsck`: the store's check of a plane's data directory, with the signatures of its checkpoints judged
 * by the keys of the plane's own trust file. Proven by `test/store/fsck.test.ts`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GovError } from '../contract/problems.ts';
import { openCheckpoint, parseTrust } from '../core/checkpoint.ts';
import { parseVerifierKey, verifierKeyText, type VerifierKey } from '../core/note.ts';
import { fsckStore, type FsckReport } from '../store/fsck.ts';

export type { FsckKind, FsckProblem, FsckReport } from '../store/fsck.ts';

export interface HostFsckOptions {
  readonly dataDir: string;
  /** Also every disclosure, metering reference and signature, and the file's own structure. */
  readonly deep?: boolean;
  readonly onProgress?: (progress: { readonly done: number; readonly of: number }) => void;
}

/**
 * Reads only, also while the plane serves. Throws NOT_FOUND where there is no database, CONFLICT or
 * STORAGE_FAULT where it cannot be opened; whatever is wrong with what it holds stands in the report.
 */
export async function fsck(options: HostFsckOptions): Promise<FsckReport> {
  const trustFile = join(options.dataDir, 'trust');
  if (!existsSync(trustFile)) return fsckStore(options);
  const { keys } = parseTrust(readFileSync(trustFile, 'utf8'));
  return fsckStore({ ...options, judgeNote: noteJudge(keys) });
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

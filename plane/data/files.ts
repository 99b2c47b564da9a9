/**
 * Lists the files of a plane's data directory by the way to copy them. A backup copies databases from a
 * snapshot, secrets on request, and other files unchanged. It skips the files of a running process. Proven by
 * `test/plane/data/backup.test.ts`.
 */
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, createReadStream, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { syncFile } from '../../src/store/file/paths.ts';

/** `subjects` is the database with the keys of subjects: both a secret and a database. */
type FileKind = 'store' | 'database' | 'subjects' | 'secret' | 'plain';

export interface DataFile {
  /** Path below the directory, with `/` between its parts. */
  readonly path: string;
  readonly kind: FileKind;
}

/** Files of a running process, which a start makes again, unfinished artifacts, and hidden files. */
const passing =
  /^(?:\.|(?:lock|draft\.lock|reserve|run\.json|upkeep\.json|probe|acked\.bin|losses\.ndjson)$)|-(?:wal|shm|journal)$|\.tmp$|\.part$/;
const deepest = 4;

/** Lists every file that a backup contains, by path. */
export function dataFiles(dataDir: string, below = '', depth = 0): DataFile[] {
  return readdirSync(join(dataDir, below))
    .filter((name) => !passing.test(name))
    .flatMap((name): DataFile[] => {
      const path = below === '' ? name : `${below}/${name}`;
      const found = statSync(join(dataDir, path), { throwIfNoEntry: false });
      if (found?.isDirectory() === true) return depth < deepest ? dataFiles(dataDir, path, depth + 1) : [];
      return found?.isFile() === true ? [{ path, kind: kindOf(path) }] : [];
    })
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

/** Artifacts of exports appear and disappear while a plane serves. */
export const isArtifact = ({ path }: DataFile): boolean => path.startsWith('exports/');

function kindOf(path: string): FileKind {
  if (path === 'gov.db' || path === 'heads.db') return 'store';
  if (path === 'subjects.db') return 'subjects';
  if (path.startsWith('keys/') || path.endsWith('.key') || path === 'approver.sealed') return 'secret';
  return path.endsWith('.db') ? 'database' : 'plain';
}

export interface FileSum {
  readonly path: string;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** Computes the size and SHA-256 of a file. Reads the file once, in pieces. */
export async function sumOf(
  folder: string,
  path: string,
  onBytes?: (bytes: number) => void,
): Promise<FileSum> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of createReadStream(join(folder, path)) as AsyncIterable<Buffer>) {
    hash.update(piece);
    bytes += piece.length;
    onBytes?.(piece.length);
  }
  return { path, bytes, sha256: hash.digest('hex') };
}

/** Makes a durable copy with mode 0600. */
export function copyPrivate(from: string, to: string): void {
  copyFileSync(from, to);
  chmodSync(to, 0o600);
  syncFile(to);
}

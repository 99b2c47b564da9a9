/**
 * What lies in a plane's data directory, sorted by how it is copied: databases from a snapshot, secrets only where they
 * are asked for, the rest as it is; what belongs to a process is left out. Proven by `test/plane/data/backup.test.ts`.
 */
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, createReadStream, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { syncFile } from '../../src/store/file/paths.ts';

/** `subjects`: the keys of subjects, which are a secret and a database. */
type FileKind = 'store' | 'database' | 'subjects' | 'secret' | 'plain';

export interface DataFile {
  /** Below the directory, with `/` between its parts. */
  readonly path: string;
  readonly kind: FileKind;
}

/** Held while a directory is filled (`drafts.ts`). */
export const draftLock = 'draft.lock';

/** Of a process, made again by a start, or an artifact that is being written. */
const passing = /^(?:lock|draft\.lock|reserve|run\.json|probe)$|-(?:wal|shm|journal)$|\.tmp$|\.part$/;
const deepest = 4;

/** All that a backup holds, by path. */
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

/** Artifacts of exports, which come and go while a plane serves. */
export const isArtifact = ({ path }: DataFile): boolean => path.startsWith('exports/');

function kindOf(path: string): FileKind {
  if (path === 'gov.db' || path === 'heads.db') return 'store';
  if (path === 'subjects.db') return 'subjects';
  if (path.startsWith('keys/') || path.endsWith('.key')) return 'secret';
  return path.endsWith('.db') ? 'database' : 'plain';
}

export interface FileSum {
  readonly path: string;
  readonly bytes: number;
  /** In hex. */
  readonly sha256: string;
}

/** Size and SHA-256 of a file, read once in pieces. */
export async function sumOf(folder: string, path: string): Promise<FileSum> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of createReadStream(join(folder, path)) as AsyncIterable<Buffer>) {
    hash.update(piece);
    bytes += piece.length;
  }
  return { path, bytes, sha256: hash.digest('hex') };
}

/** A durable copy of mode 0600. */
export function copyPrivate(from: string, to: string): void {
  copyFileSync(from, to);
  chmodSync(to, 0o600);
  syncFile(to);
}

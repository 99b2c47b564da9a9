/**
 * The files below a folder of recordings: those that may be recordings by the end of their name, and the others, which a
 * push names and does not read. Links are not followed: the walk ends, and no file outside the folder is read, whoever
 * may write links in it.
 * Tested by `test/cli/push/folder.test.ts`.
 */
import { closeSync, constants, lstatSync, openSync, readdirSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../../contract/limits.ts';
import { usage } from '../program/exit.ts';
import { unreadable } from '../program/flags.ts';

export interface FolderFile {
  /** Below the folder. */
  readonly name: string;
  readonly path: string;
  readonly size: number;
  /** Which file it is, whatever its name. */
  readonly device: number;
  readonly inode: number;
  readonly modifiedMs: number;
}

export interface FolderFiles {
  readonly files: readonly FolderFile[];
  /** Names below the folder of what is not read. */
  readonly others: readonly string[];
  /** Folders among the others that cannot be read, with the system's code. */
  readonly closed: readonly Closed[];
  /** The folder itself and those below it, by their names. */
  readonly folders: readonly string[];
}

/** A file or folder that cannot be read. */
export interface Closed {
  readonly name: string;
  /** Such as EACCES. */
  readonly code: string;
}

/** A compressed recording, and the database of a program that keeps its sessions in one, are refused by their content. */
const recording = /\.(jsonl?|ndjson|traj|pb|otlp)(\.(gz|zst|zip|bz2|xz|br))?$|(^|[\\/])opencode\.db$/i;

/** Whether the name of a file is that of a recording. */
export const isRecordingName = (name: string): boolean => recording.test(name);

/**
 * Returns the files in the order of their names. Errors: exit 2 for a folder that cannot be read, or one with more than
 * `limits.pushFolderFiles` files or `limits.pushFolderDepth` levels. A folder below it that cannot be read is among the
 * others. Cost: one call of the system a folder and file.
 */
export function filesBelow(
  folder: string,
  {
    mostFiles = limits.pushFolderFiles,
    mostDepth = limits.pushFolderDepth,
  }: { readonly mostFiles?: number; readonly mostDepth?: number } = {},
): FolderFiles {
  const files: FolderFile[] = [];
  const others: string[] = [];
  const closed: Closed[] = [];
  const folders: string[] = [];
  const open: { readonly name: string; readonly depth: number }[] = [{ name: '', depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { name: below, depth } = next;
    const entries = entriesOf(join(folder, below), depth === 0);
    if (typeof entries === 'string') {
      others.push(below);
      // it may have gone since
      if (entries !== 'ENOENT') closed.push({ name: below, code: entries });
      continue;
    }
    folders.push(below);
    for (const entry of entries) {
      const name = join(below, entry.name);
      if (entry.isDirectory()) {
        if (depth === mostDepth)
          throw usage(`${folder}: expected at most ${mostDepth} levels of folders, got more`);
        open.push({ name, depth: depth + 1 });
        continue;
      }
      const file = isRecordingName(name) ? fileAt(folder, name) : undefined;
      if (file === undefined) others.push(name);
      else files.push(file);
    }
    if (files.length > mostFiles)
      throw usage(`${folder}: expected at most ${mostFiles} recordings, got more`);
  }
  return { files: files.toSorted(byName), others: others.toSorted(), closed, folders };
}

const byName = (a: FolderFile, b: FolderFile): number => (a.name < b.name ? -1 : Number(a.name > b.name));

/** Returns the system's code for a folder that cannot be read. */
function entriesOf(path: string, isTop: boolean): readonly Dirent[] | string {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (cause) {
    if (isTop) throw unreadable(path, cause);
    return codeOf(cause);
  }
}

/** The code of a system error, such as EACCES. */
const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : 'unknown';

/** Returns the system's code for a file that cannot be opened; undefined for one that can, or has gone. */
export function closedBy(path: string): string | undefined {
  try {
    closeSync(openFound(path));
    return undefined;
  } catch (cause) {
    const code = codeOf(cause);
    return code === 'ENOENT' ? undefined : code;
  }
}

/** Returns undefined for what is no file, such as a pipe, a socket or a link. */
export function fileAt(folder: string, name: string): FolderFile | undefined {
  const path = join(folder, name);
  try {
    const stat = lstatSync(path);
    if (!stat.isFile()) return undefined;
    return {
      name,
      path,
      size: stat.size,
      device: stat.dev,
      inode: stat.ino,
      modifiedMs: stat.mtimeMs,
    };
  } catch {
    return undefined;
  }
}

/**
 * Opens a file that was found to read it. What has taken its place since, a link or a pipe, neither leads out of the folder
 * nor waits for a writer. Throws the system's error.
 */
export const openFound = (path: string): number => openSync(path, foundFlags);

/** A system without links and pipes in its folders has no such flags. */
const foundFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

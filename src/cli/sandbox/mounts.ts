/**
 * The arguments of bwrap for the lists of a sandbox. All of the machine is read-only but the listed folders. Denied folders are empty,
 * denied files have no content. A crash of gov leaves empty placeholders behind, and ends the sandbox. A mount holds a path: the program can rename neither it nor a folder above it in a writable one.
 * Tested by `test/cli/sandbox/run.test.ts`.
 */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { usage } from '../program/exit.ts';
import { foldersBetween, isBelow, type PathLists } from './decide.ts';

/** Files of gov and folders of clients, which no policy decides. */
export interface OwnMounts {
  readonly readOnly: readonly string[];
  /** Folders that are empty inside, and files without content. */
  readonly hidden: readonly string[];
  /** Paths in hidden folders that are there nevertheless, read-only. */
  readonly within: readonly string[];
  /** Folders and files that appear at another path. */
  readonly moved: readonly { readonly from: string; readonly to: string; readonly isWritable: boolean }[];
}

export interface Mounts {
  readonly words: readonly string[];
  /** Removes the placeholders. */
  undo(): void;
}

const namespaces = [
  '--die-with-parent',
  '--unshare-pid',
  '--unshare-net',
  '--unshare-ipc',
  '--cap-drop',
  'ALL',
];
/** Root may write there without capabilities. */
const kernelFiles = ['/proc/sys', '/proc/sysrq-trigger', '/proc/irq', '/proc/bus'];

/** What stands at a path. `from`: the path whose content it is; null: nothing. */
interface Mount {
  readonly from: string | null;
  readonly isWritable: boolean;
}

/** Errors: exit 2 where a link leads elsewhere from a path that has to be held closed, because the program could replace the link. */
export function mountsOf({ denyRead, denyWrite, allowWrite }: PathLists, own: OwnMounts): Mounts {
  const mounts = new Map<string, Mount>();
  const set = (path: string, isWritable: boolean, from: string | null = path): void =>
    void mounts.set(path, { from, isWritable });
  for (const path of allowWrite) set(path, true);
  const hold = (path: string): void => {
    for (const root of allowWrite.filter((each) => isBelow(path, each)))
      for (const folder of foldersBetween(path, root)) if (!mounts.has(folder)) set(folder, true);
  };
  const made: string[] = [];
  const undo = (): void => {
    for (const path of made.toReversed()) removeEmpty(path);
  };
  try {
    for (const { path, placeholder } of denyWrite) {
      refuseLink(path, allowWrite);
      if (!existsSync(path) && placeholder !== null) made.push(...placeholderAt(path, placeholder));
      hold(realpathSync(path));
      set(realpathSync(path), false);
    }
  } catch (cause) {
    undo();
    throw cause;
  }
  for (const path of existing(own.readOnly)) set(path, false);
  for (const path of [...denyRead, ...existing(own.hidden)]) {
    hold(path);
    set(path, false, null);
  }
  for (const { from, to, isWritable } of own.moved) set(to, isWritable, from);
  for (const path of existing(own.within)) set(path, false);
  return { words: wordsOf(mounts), undo };
}

const existing = (paths: readonly string[]): string[] =>
  paths.filter((path) => existsSync(path)).map((path) => realpathSync(path));

/** A folder is mounted before what lies in it, because its mount hides older ones there. */
function wordsOf(mounts: ReadonlyMap<string, Mount>): string[] {
  const words = [...namespaces, '--ro-bind', '/', '/', '--proc', '/proc'];
  for (const path of kernelFiles) words.push('--ro-bind-try', path, path);
  words.push('--dev', '/dev');
  const closed: string[] = [];
  for (const [path, { from, isWritable }] of [...mounts].toSorted(([a], [b]) => a.length - b.length)) {
    if (from !== null) words.push(isWritable ? '--bind' : '--ro-bind', from, path);
    else if (statSync(path).isDirectory()) {
      words.push('--tmpfs', path);
      closed.push(path);
    } else words.push('--ro-bind', '/dev/null', path);
  }
  return [...words, ...closed.flatMap((path) => ['--remount-ro', path])];
}

function refuseLink(path: string, roots: readonly string[]): void {
  for (let at = path; roots.some((root) => isBelow(at, root) && at !== root); at = dirname(at)) {
    if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() !== true) continue;
    throw usage(
      `${at}: expected no link, because a program in the sandbox could replace it, got one to ${readlinkSync(at)}`,
      'put the file or folder itself there',
    );
  }
}

/** Makes an empty file or folder, with the folders above it. Returns what it made, the outermost first. */
function placeholderAt(path: string, kind: 'folder' | 'file'): string[] {
  const folders: string[] = [];
  for (let at = kind === 'folder' ? path : dirname(path); !existsSync(at); at = dirname(at))
    folders.unshift(at);
  for (const folder of folders) mkdirSync(folder);
  if (kind === 'folder') return folders;
  // clients read it as JSON
  writeFileSync(path, '{"mcpServers":{}}\n', { flag: 'wx' });
  return [...folders, path];
}

function removeEmpty(path: string): void {
  try {
    if (statSync(path).isDirectory()) rmdirSync(path);
    else unlinkSync(path);
  } catch {
    // somebody else has put something there
  }
}

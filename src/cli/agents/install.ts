/**
 * Puts the edits of set-ups into files, and takes them back. A file that nobody changed since gets its old bytes back; from
 * another one only what is ours goes. `agents-installed.json` keeps the old bytes, with mode 0600, because settings may
 * have secrets. It is written before the files: a crash leaves files that uninstall can still take back. A symbolic link
 * stays, and the file that it names is edited. A file that is not UTF-8 is edited byte by byte.
 * Tested by `test/cli/agents/install.test.ts`.
 */
import { hash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { makeFolder } from '../../files/make-folder.ts';
import { isObject } from '../../core/json/object.ts';
import { readObject } from '../context/config.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { unreadable } from '../program/flags.ts';
import { writeWhole } from '../terminal/output-file.ts';
import type { Edit } from './setup/edit.ts';

/** What a file was before it was first changed. */
interface Former {
  /** Base64 of the bytes; null: there was no file. */
  readonly before: string | null;
  readonly mode: number | null;
  /** The first folder that was made for it. */
  readonly madeFolder: string | null;
  /** SHA-256 of the bytes that were written last. */
  readonly written: string;
}

export interface InstallRecord {
  readonly files: Readonly<Record<string, Former>>;
  /** The key that was made for hooks. */
  readonly keyId: string | null;
}

/** One file, as it is and as it should be; null: no file. */
export interface Change {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
  /** What uninstall gives back. */
  readonly original: string | null;
  /** Default: UTF-8. */
  readonly encoding?: TextEncoding;
}

/** `latin1`: a file that is not UTF-8, one character a byte. */
type TextEncoding = 'utf8' | 'latin1';

const stateFile = (folder: string): string => join(folder, 'agents-installed.json');

export function readInstalled(folder: string): InstallRecord {
  const path = stateFile(folder);
  const { files = {}, keyId = null } = readObject(path) ?? {};
  if (areFormer(files) && (keyId === null || typeof keyId === 'string')) return { files, keyId };
  throw usage(
    `${path}: expected the files that gov agents install changed, got other members`,
    'nothing was changed; move it away, and take what gov wrote out of the settings of the clients by hand',
  );
}

/** The record says what uninstall writes into which file, so each member is checked. */
const areFormer = (files: unknown): files is InstallRecord['files'] =>
  isObject(files) && Object.values(files).every(isFormer);

function isFormer(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { before, mode, madeFolder, written } = value;
  const isTextOrNull = (each: unknown): boolean => each === null || typeof each === 'string';
  const isMode =
    mode === null || (typeof mode === 'number' && Number.isInteger(mode) && mode >= 0 && mode <= 0o777);
  return isTextOrNull(before) && isTextOrNull(madeFolder) && isMode && typeof written === 'string';
}

export function writeInstalled(folder: string, installed: InstallRecord): void {
  if (installed.keyId === null && Object.keys(installed.files).length === 0) {
    rmSync(stateFile(folder), { force: true });
    return;
  }
  firstMade(folder);
  writeWhole(stateFile(folder), Buffer.from(`${JSON.stringify(installed, null, 2)}\n`), 0o600);
}

const digest = (text: string, encoding: TextEncoding): string =>
  hash('sha256', Buffer.from(text, encoding), 'hex');

/** Returns the text of a file; null for no file. Errors: exit 2 for one that cannot be read. */
export const textAt = (path: string): string | null => fileAt(path).text;

function fileAt(path: string): { readonly text: string | null; readonly encoding: TextEncoding } {
  try {
    if (!existsSync(path)) return { text: null, encoding: 'utf8' };
    const bytes = readFileSync(path);
    const text = bytes.toString('utf8');
    return Buffer.from(text).equals(bytes)
      ? { text, encoding: 'utf8' }
      : { text: bytes.toString('latin1'), encoding: 'latin1' };
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** Where a file is, also behind links, and also where it is to be made. Errors: exit 2 for links that lead in a circle. */
function targetOf(path: string): string {
  let at = path;
  for (let links = 0; links <= maximumLinks; links += 1) {
    if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return at;
    at = resolve(dirname(at), readlinkSync(at));
  }
  throw usage(`${path}: expected at most ${maximumLinks} links to a file, got more`, 'remove the link');
}

/** As Linux has it. */
const maximumLinks = 40;

/** The original of an edit: the kept one if nobody changed the file since, else the file without what is ours. */
function originalOf(
  edit: Edit,
  { text, encoding }: ReturnType<typeof fileAt>,
  former: Former | undefined,
): string | null {
  if (text === null) return null;
  const kept =
    former === undefined || former.before === null
      ? former?.before
      : Buffer.from(former.before, 'base64').toString(encoding);
  if (former?.written === digest(text, encoding)) return kept ?? null;
  return edit.remove(text, kept);
}

export function plannedInstall(edits: readonly Edit[], { files }: InstallRecord): Change[] {
  return edits.map((edit) => {
    const { path } = edit;
    const now = fileAt(path);
    const original = originalOf(edit, now, files[path]);
    const { text: before, encoding } = now;
    return { path, before, after: edit.add(original, before), original, encoding };
  });
}

export function plannedUninstall(edits: readonly Edit[], { files }: InstallRecord): Change[] {
  return edits.map((edit) => {
    const { path } = edit;
    const now = fileAt(path);
    const after = originalOf(edit, now, files[path]);
    return { path, before: now.text, after, original: after, encoding: now.encoding };
  });
}

export const isChange = ({ before, after }: Change): boolean => before !== after;

/** Writes the files of an installation, and keeps what they were. A file with `secret` is for its owner alone. */
export function install(changes: readonly Change[], folder: string, secret: string | null): void {
  const { files, keyId } = readInstalled(folder);
  const kept: Record<string, Former> = { ...files };
  for (const { path, after, original, encoding = 'utf8' } of changes.filter(isChange)) {
    if (after === null) continue;
    const target = targetOf(path);
    const former = kept[path];
    const found = existsSync(target) ? statSync(target).mode & 0o777 : null;
    kept[path] = {
      before: original === null ? null : Buffer.from(original, encoding).toString('base64'),
      mode: former === undefined ? found : former.mode,
      madeFolder: former === undefined ? firstMade(dirname(target)) : former.madeFolder,
      written: digest(after, encoding),
    };
    writeInstalled(folder, { files: kept, keyId });
    const isSecret = secret !== null && after.includes(secret);
    writeWhole(target, Buffer.from(after, encoding), isSecret ? 0o600 : (found ?? 0o644));
  }
}

/** Gives the files back. */
export function uninstall(changes: readonly Change[], folder: string): void {
  const { files, keyId } = readInstalled(folder);
  const kept: Record<string, Former> = { ...files };
  // the first file made the folders that the others lie in
  for (const { path, before, after, encoding = 'utf8' } of changes.toReversed()) {
    const { mode = null, madeFolder = null } = kept[path] ?? {};
    const target = targetOf(path);
    if (after === null) {
      rmSync(target, { force: true });
      if (madeFolder !== null) removeEmpty(dirname(target), madeFolder);
    } else {
      if (before !== after) writeWhole(target, Buffer.from(after, encoding), statSync(target).mode & 0o777);
      if (mode !== null) chmodSync(target, mode);
    }
    delete kept[path];
    writeInstalled(folder, { files: kept, keyId });
  }
}

/** Returns the first folder that it made; null if all were there. Errors: exit 1 with the reason. */
function firstMade(folder: string): string | null {
  try {
    return makeFolder(folder, 0o755) ?? null;
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new CliError(exit.error, `cannot make the folder ${folder}: ${why}`, {
      code: 'WRITE_FAILED',
      cause,
    });
  }
}

/** Removes empty folders up to `top`. */
function removeEmpty(folder: string, top: string): void {
  for (let at = folder; at.startsWith(top); at = dirname(at)) {
    try {
      rmdirSync(at);
    } catch {
      return; // somebody put something into it
    }
  }
}

/**
 * Makes a directory completely or not at all (`private.ts`) and removes drafts of killed processes. Such a
 * draft may contain keys that no erasure reaches. A process locks its draft while it fills it, so an unlocked
 * draft is abandoned. The next draft in the same folder removes it. Proven by
 * `test/host/files/drafts.test.ts`.
 */
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GovError } from '../../contract/problems.ts';
import { codeOf, whyUnwritable } from '../../files/write-fault.ts';
import { takeLock, type Lock } from '../../store/file/lock.ts';
import { fitting, makeDirectory } from './private.ts';

/** A process locks this file while it fills a directory. */
export const draftLock = 'draft.lock';

/**
 * Makes `what` at `path`. Returns the abandoned drafts that it removed from the same folder. Throws as `makeDirectory`,
 * `fitting` and `fill` do, and VALIDATION_ERROR where nobody can make a folder there.
 */
export async function makeHeld(
  { what, path }: { readonly what: string; readonly path: string },
  fill: (draft: string) => Promise<void>,
): Promise<string[]> {
  let lock: Lock | undefined;
  let removed: string[];
  let ofFill: unknown;
  try {
    removed = removeLeft(dirname(path));
    await fitting({ what, path }, () =>
      makeDirectory(path, async (draft) => {
        lock = takeLock(join(draft, draftLock), process.pid);
        await fill(draft).catch((error: unknown) => {
          ofFill = error;
          throw error;
        });
      }),
    );
  } catch (error) {
    if (error === ofFill || !(error instanceof Error) || !('syscall' in error)) throw error;
    const detail = `cannot make ${what} at ${path}: ${whyUnwritable(error)}`;
    throw new GovError('VALIDATION_ERROR', detail, { cause: error });
  } finally {
    lock?.release();
  }
  // Remove the lock last: a draft without a lock would belong to no process.
  rmSync(join(path, draftLock));
  return removed;
}

function removeLeft(folder: string): string[] {
  const left = namesIn(folder)
    .filter((name) => /\.init-[A-Za-z0-9]{6}$/.test(name))
    .map((name) => join(folder, name))
    .filter(isLeft);
  for (const draft of left) rmSync(draft, { recursive: true, force: true });
  return left;
}

/** Returns no names where the folder is missing or cannot be listed. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (['ENOENT', 'EACCES'].includes(codeOf(error))) return [];
    throw error;
  }
}

/** True for a draft of this user whose lock is free. Any user may write to a folder such as /tmp. */
function isLeft(draft: string): boolean {
  const folder = lstatSync(draft, { throwIfNoEntry: false });
  if (folder?.isDirectory() !== true || folder.uid !== process.getuid?.() || (folder.mode & 0o077) !== 0)
    return false;
  const lock = lstatSync(join(draft, draftLock), { throwIfNoEntry: false });
  // Another process is taking an empty lock right now.
  if (lock?.isFile() !== true || lock.size === 0) return false;
  try {
    takeLock(join(draft, draftLock), process.pid).release();
    return true;
  } catch {
    return false; // held, or no lock of ours
  }
}

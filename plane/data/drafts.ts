/**
 * Directories that are made whole or not at all (`src/host/data/files.ts`), where a kill leaves a draft with a copy of keys that
 * no erasure reaches and nothing names. A draft is held by a lock while it is filled, so what nobody holds was left, and the
 * next one that is made beside it removes it. Proven by `test/plane/data/drafts.test.ts`.
 */
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeDirectory } from '../../src/host/data/files.ts';
import { takeLock, type Lock } from '../../src/store/file/lock.ts';
import { draftLock } from './files.ts';

/** As `makeDirectory`. Answers the drafts that were left in the same folder, which it removed. */
export async function makeHeld(path: string, fill: (draft: string) => Promise<void>): Promise<string[]> {
  const removed = removeLeft(dirname(path));
  let lock: Lock | undefined;
  try {
    await makeDirectory(path, async (draft) => {
      lock = takeLock(join(draft, draftLock), process.pid);
      await fill(draft);
    });
  } finally {
    lock?.release();
  }
  // only now: a draft without it would be nobody's
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

/** None where the folder is not there yet, or may be written to and not listed. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (['ENOENT', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}

/** Of this user alone, since anybody may write to a folder such as /tmp, and with a lock that nobody holds. */
function isLeft(draft: string): boolean {
  const folder = lstatSync(draft, { throwIfNoEntry: false });
  if (folder?.isDirectory() !== true || folder.uid !== process.getuid?.() || (folder.mode & 0o077) !== 0)
    return false;
  const lock = lstatSync(join(draft, draftLock), { throwIfNoEntry: false });
  // an empty one is being taken right now
  if (lock?.isFile() !== true || lock.size === 0) return false;
  try {
    takeLock(join(draft, draftLock), process.pid).release();
    return true;
  } catch {
    return false; // held, or no lock of ours
  }
}

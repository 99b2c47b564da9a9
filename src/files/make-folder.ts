/**
 * Makes folders. Node's own `recursive` never returns below /proc, where the kernel answers ENOENT although the folder above
 * exists (Node 24.21). Tested by `test/files/make-folder.test.ts`.
 */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and the missing ones above it. Returns the first that it made. Throws the error of the system for one that
 * cannot be made.
 */
export function makeFolder(path: string, mode = 0o777): string | undefined {
  if (isFolder(path)) return undefined;
  const above = dirname(path);
  const first = above === path ? undefined : makeFolder(above, mode);
  try {
    mkdirSync(path, { mode });
    return first ?? path;
  } catch (cause) {
    // another process may have made it
    if (!isFolder(path)) throw cause;
    return first;
  }
}

/** Whether a folder is at the path. */
export const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

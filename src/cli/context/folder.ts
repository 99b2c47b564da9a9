/**
 * The plane of the working directory: a command that runs in the folder of a plane acts on this plane, not on the current
 * context. Only a context of the user makes it so, because the author of a copied folder controls its address and key.
 * Tested by `test/cli/context/folder.test.ts`.
 */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Context } from './definition.ts';

export interface PlaneFolder {
  readonly dataDir: string;
  /** Null: no context of the user has this directory. */
  readonly name: string | null;
}

/** Returns the nearest data directory at or above `cwd`; null outside of planes. */
export function planeFolderAt(cwd: string, contexts: Readonly<Record<string, Context>>): PlaneFolder | null {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'plane.json')) && existsSync(join(folder, 'gov.db'))) {
      const dataDir = realpathSync(folder);
      const found = Object.entries(contexts).find(
        ([, each]) => each.kind === 'plane' && realOr(each.dataDir) === dataDir,
      );
      return { dataDir: folder, name: found?.[0] ?? null };
    }
    if (dirname(folder) === folder) return null;
  }
}

/** The folder of a context may be gone. */
function realOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

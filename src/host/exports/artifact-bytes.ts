/**
 * The disk space of export artifacts (`files.ts`). Proven by `test/plane/serve/disk.test.ts` and
 * `test/host/process/probe.test.ts`.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Their folder, below the data directory of a plane or of a service on SQLite. */
export const artifactFolder = (dataDir: string): string => join(dataDir, 'exports');

/**
 * Bytes of all files, with unfinished ones. A file that disappears meanwhile counts 0. Cost: one `stat` per
 * file.
 */
export function artifactBytes(dataDir: string): number {
  const folder = artifactFolder(dataDir);
  return namesIn(folder)
    .flatMap((project) => namesIn(join(folder, project)).map((name) => join(folder, project, name)))
    .reduce((bytes, path) => bytes + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

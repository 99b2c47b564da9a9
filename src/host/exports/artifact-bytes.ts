/** What artifacts of exports take of a disk (`files.ts`). Proven by `test/plane/serve/disk.test.ts` and `test/host/process/probe.test.ts`. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Where they lie, below the data directory of a plane or a service on SQLite. */
export const artifactFolder = (dataDir: string): string => join(dataDir, 'exports');

/** Bytes of all files, also parts; what goes meanwhile counts nothing. Cost: a `stat` for each. */
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

/** As people read it. */
export const bytesText = (bytes: number): string =>
  bytes < 2 ** 30 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / 2 ** 30).toFixed(1)} GiB`;

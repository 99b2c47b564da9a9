/**
 * Whether a process serves a data directory. The answer at its address does not say so: a copy of the directory has the same
 * address and keys. Proven by `test/cli/commands/plane/places.test.ts`.
 */
import { existsSync } from 'node:fs';
import { readRunFile, runFileOf } from '../../src/host/files/run.ts';
import { lockHolder } from '../../src/store/file/lock.ts';
import { storeFiles } from '../../src/store/file/paths.ts';

/**
 * Compares the holder of the lock with `run.json`, because a copy has that file too. Takes a free lock for a moment, but not
 * without `run.json`.
 */
export function isServed(dataDir: string): boolean {
  if (!existsSync(runFileOf(dataDir))) return false;
  const held = lockHolder(storeFiles(dataDir).lock);
  return held !== null && (held.pid === null || held.pid === readRunFile(dataDir).pid);
}

/**
 * Finds destroyed keys of subjects whose bytes may still be in the files.
 * Proven by `test/plane/data/backup-subjects.test.ts`.
 */
import { existsSync, statSync } from 'node:fs';
import { connectReader } from './reader.ts';
import type { Value } from './connection.ts';
import { storeFiles } from './paths.ts';
import { keyReader, readSubjects } from './subjects.ts';

/**
 * Whether the files have such a key. If no process serves the directory, a write-ahead log that is not empty
 * also counts, because it may have some. Cost: 4 µs a destroyed key.
 */
export function hasKeysLeft(dataDir: string, { isServed }: { readonly isServed: boolean }): boolean {
  const { main, subjects: path } = storeFiles(dataDir);
  if (!existsSync(path)) return false;
  if (!isServed && (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return true;
  const subjects = readSubjects(path);
  if (subjects === null) return false;
  const db = connectReader(main);
  try {
    const erased = db.prepare<Value[], string>('SELECT DISTINCT key_id FROM erased_key').pluck();
    const find = keyReader(subjects);
    return erased.all().some((id) => find(id) !== null);
  } finally {
    db.close();
    subjects.close();
  }
}

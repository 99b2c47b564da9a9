/**
 * `gov log compact` for a plane, or for a service on SQLite. Proven by
 * `test/store/sqlite/upkeep/rewrite.long.test.ts`.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { GovError } from '../../contract/problems.ts';
import { compactStore, type CompactionResult, type CompactProgress } from '../../store/sqlite/store.ts';
import { storeFiles } from '../../store/file/paths.ts';

/** Compacts as `compactStore` does. NOT_FOUND also where the database is on PostgreSQL. */
export function compactLog(
  dataDir: string,
  onProgress: CompactProgress,
): Promise<CompactionResult & { readonly dataDir: string }> {
  const path = resolve(dataDir);
  if (!existsSync(storeFiles(path).main) && existsSync(join(path, 'service.json'))) {
    const detail = `expected a service on SQLite in ${path}; on PostgreSQL VACUUM FULL does it (docs/explanation/how-erasure-works.md)`;
    throw new GovError('NOT_FOUND', detail);
  }
  return compactStore(path, onProgress).then((compacted) => ({ dataDir: path, ...compacted }));
}

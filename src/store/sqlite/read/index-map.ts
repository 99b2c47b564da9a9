/** Reads of the saved map. Proven by `test/store/suite/log/index-map.ts`. */
import type { StoredList } from '../../../core/completeness/key-list.ts';
import type { PathEnd } from '../../../core/completeness/map.ts';
import type { Connection, Value } from '../../file/connection.ts';
import type { IndexMapReader, SavedMap } from '../../port/index-map.ts';
import type { ProjectNumber } from './leaves.ts';

export function indexMapReads(db: Connection, numberOf: ProjectNumber): IndexMapReader {
  const map = db.prepare<Value[], SavedMap>(
    'SELECT size, ms, leaf_index AS leafIndex, parts FROM index_map WHERE project = ?',
  );
  const part = db.prepare<Value[], PathEnd>(
    `SELECT key_hash AS keyHash, value_hash AS valueHash FROM index_list
     WHERE project = ? AND key_hash >= ? AND key_hash <= ?`,
  );
  const list = db.prepare<Value[], StoredList>(
    `SELECT n, first_index AS first, first_ms AS firstMs, last_index AS last, last_ms AS lastMs, peaks FROM index_list
     WHERE project = ? AND key_hash = ?`,
  );
  return {
    savedMap: async (projectId) => map.get(numberOf(projectId)) ?? null,
    mapPart: async (projectId, { from, to }) => part.all(numberOf(projectId), from, to),
    mapLists: async (projectId, keyHashes) => {
      const project = numberOf(projectId);
      const found = new Map<string, StoredList>();
      for (const hash of keyHashes) {
        const row = list.get(project, hash);
        if (row !== undefined) found.set(hash.toString('hex'), row);
      }
      return found;
    },
  };
}

/** Reads of the saved map. Proven by `test/store/suite/log/index-map.ts`. */
import type { StoredList } from '../../core/completeness/key-list.ts';
import type { PathEnd } from '../../core/completeness/map.ts';
import type { IndexMapReader, SavedMap } from '../port/index-map.ts';
import { both, rowsOf, step, type Queries } from './queries.ts';

const savedMap = both<SavedMap>(
  'SELECT size, ms, leaf_index AS "leafIndex", parts FROM index_map WHERE project = $1',
);
const mapPart = both<PathEnd>(
  `SELECT key_hash AS "keyHash", value_hash AS "valueHash" FROM index_list
   WHERE project = $1 AND key_hash >= $2 AND key_hash <= $3`,
);
const mapList = both<StoredList>(
  `SELECT n, first_index AS first, first_ms AS "firstMs", last_index AS last, last_ms AS "lastMs", peaks
   FROM index_list WHERE project = $1 AND key_hash = $2`,
);

export const indexMapReads = (queries: Queries): IndexMapReader => ({
  savedMap: async (projectId) => (await rowsOf(queries, projectId, savedMap))[0] ?? null,
  mapPart: (projectId, { from, to }) => rowsOf(queries, projectId, mapPart, from, to),
  mapLists: async (projectId, keyHashes) => {
    const project = await queries.numberOf(projectId);
    const found = await queries.read(
      { project },
      keyHashes.map((hash) => step(mapList, project, hash)),
    );
    const lists = new Map<string, StoredList>();
    for (const [at, hash] of keyHashes.entries()) {
      const list = found[at]?.rows[0];
      if (list !== undefined) lists.set(hash.toString('hex'), list);
    }
    return lists;
  },
});

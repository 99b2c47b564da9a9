/**
 * The saved map. Two processes may save it: the newer one stays, and lists are written only with their map.
 * Proven by `test/store/suite/log/index-map.ts`.
 */
import type { StoredList } from '../../../core/completeness/key-list.ts';
import type { IndexMapStore } from '../../port/index-map.ts';
import { arrayOf } from '../connection/arrays.ts';
import type { Database } from '../connection/database.ts';
import { sql, step } from '../../read/queries.ts';
import type { ProjectNumber } from '../read/leaves.ts';

const saveMap = sql(
  `INSERT INTO index_map (project, size, ms, leaf_index, parts)
     SELECT $1::int4, $2::int8, $3::int8, $4::int8, $5::bytea
     WHERE $6::int8 = 0 OR EXISTS (SELECT FROM index_map WHERE project = $1::int4)
   ON CONFLICT (project) DO UPDATE SET size = excluded.size, ms = excluded.ms, leaf_index = excluded.leaf_index,
     parts = excluded.parts
     WHERE index_map.size < excluded.size AND index_map.size >= $6::int8`,
);
const saveLists = sql(
  `INSERT INTO index_list (project, key_hash, value_hash, n, first_index, first_ms, last_index, last_ms, peaks)
     SELECT $1::int4, w.* FROM unnest($3::bytea[], $4::bytea[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int8[],
       $10::bytea[]) AS w
     WHERE EXISTS (SELECT FROM index_map WHERE project = $1::int4 AND size = $2::int8)
   ON CONFLICT (project, key_hash) DO UPDATE SET value_hash = excluded.value_hash, n = excluded.n,
     first_index = excluded.first_index, first_ms = excluded.first_ms, last_index = excluded.last_index,
     last_ms = excluded.last_ms, peaks = excluded.peaks`,
);
const dropMap = sql('DELETE FROM index_map WHERE project = $1');
const dropLists = sql('DELETE FROM index_list WHERE project = $1');

export function indexMapWrites(database: Database, numberOf: ProjectNumber): IndexMapStore {
  return {
    saveMap: async (projectId, { map, since, lists }) => {
      const project = await numberOf(projectId);
      const numbers = (of: (list: StoredList) => number): Buffer =>
        arrayOf(
          'int8',
          lists.map(({ list }) => of(list)),
        );
      const hashes = (of: (each: (typeof lists)[number]) => Uint8Array): Buffer =>
        arrayOf('bytea', lists.map(of));
      await database.write({ project }, [
        step(saveMap, project, map.size, map.ms, map.leafIndex, Buffer.from(map.parts), since),
        step(
          saveLists,
          project,
          map.size,
          hashes(({ keyHash }) => keyHash),
          hashes(({ valueHash }) => valueHash),
          numbers(({ n }) => n),
          numbers(({ first }) => first),
          numbers(({ firstMs }) => firstMs),
          numbers(({ last }) => last),
          numbers(({ lastMs }) => lastMs),
          hashes(({ list }) => list.peaks),
        ),
      ]);
    },
    dropMap: async (projectId) => {
      const project = await numberOf(projectId);
      await database.write({ project }, [step(dropMap, project), step(dropLists, project)]);
    },
  };
}

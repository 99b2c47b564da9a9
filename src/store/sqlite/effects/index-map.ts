/** Writes of the saved map. Proven by `test/store/suite/log/index-map.ts`. */
import type { ChangedList } from '../../../core/completeness/log-map.ts';
import type { SavedMap } from '../../port/index-map.ts';
import type { Prepare } from '../../file/statement.ts';

export interface MapSave {
  readonly map: SavedMap;
  readonly since: number;
  readonly lists: readonly ChangedList[];
}

export interface IndexMapTasks {
  saveMap(project: number, saving: MapSave): void;
  dropMap(project: number): void;
}

export function indexMapTasks(prepare: Prepare): IndexMapTasks {
  const size = prepare<{ size: number }>('find map', 'SELECT size FROM index_map WHERE project = ?');
  const save = prepare(
    'save map',
    `INSERT INTO index_map (project, size, ms, leaf_index, parts) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (project) DO UPDATE SET size = excluded.size, ms = excluded.ms, leaf_index = excluded.leaf_index,
       parts = excluded.parts`,
  );
  const list = prepare(
    'save map list',
    `INSERT INTO index_list (project, key_hash, value_hash, n, first_index, first_ms, last_index, last_ms, peaks)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (project, key_hash) DO UPDATE SET value_hash = excluded.value_hash, n = excluded.n,
       first_index = excluded.first_index, first_ms = excluded.first_ms, last_index = excluded.last_index,
       last_ms = excluded.last_ms, peaks = excluded.peaks`,
  );
  const dropMap = prepare('drop map', 'DELETE FROM index_map WHERE project = ?');
  const dropLists = prepare('drop map lists', 'DELETE FROM index_list WHERE project = ?');
  return {
    saveMap: (project, { map, since, lists }) => {
      const stored = size.get(project)?.size ?? 0;
      if (stored >= map.size || stored < since) return;
      save.run(project, map.size, map.ms, map.leafIndex, map.parts);
      for (const { keyHash, valueHash, list: of } of lists) {
        const { n, first, firstMs, last, lastMs, peaks } = of;
        list.run(project, keyHash, valueHash, n, first, firstMs, last, lastMs, peaks);
      }
    },
    dropMap: (project) => {
      dropMap.run(project);
      dropLists.run(project);
    },
  };
}

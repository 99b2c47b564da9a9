/**
 * `fsck`: compares the saved map of a log, which is a cache, with the one that the leaves give.
 * Proven by `test/host/data/build-index.test.ts`.
 */
import { readIndex } from '../../../core/completeness/index-leaf.ts';
import type { LogMap } from '../../../core/completeness/log-map.ts';
import { mapFunction } from '../../../core/completeness/map-function.ts';
import { PrefixTree } from '../../../core/completeness/prefix-tree.ts';
import type { SavedMap } from '../../port/index-map.ts';
import { positionOf } from '../../file/position.ts';
import type { Check, CheckedProject } from '../check.ts';

interface ListRow {
  readonly key: string;
  readonly state: string;
}

const asHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').toUpperCase();

/** Null for a log without a saved map. `fn`: its map function. `compare` takes the map of the leaves at `size`. */
export function savedMapCheck(
  { db, problem }: Check,
  { no, projectId }: CheckedProject,
): { readonly size: number; readonly fn: string; compare(map: LogMap): void } | null {
  // a database of an earlier version has no such tables
  const isThere = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'index_map'").get() !== undefined;
  if (!isThere) return null;
  // in one read transaction: a process that serves meanwhile saves the next map in both tables
  const found = db.transaction(() => {
    const saved = db
      .prepare<[number], SavedMap>(
        'SELECT size, ms, leaf_index AS "leafIndex", parts FROM index_map WHERE project = ?',
      )
      .get(no);
    if (saved === undefined) return null;
    const record = db
      .prepare<[number], string>('SELECT record FROM leaf WHERE position = ?')
      .pluck()
      .get(positionOf(no, saved.leafIndex));
    const lists = db.prepare<[number], ListRow>(
      `SELECT hex(key_hash) AS key, concat_ws(' ', hex(value_hash), n, first_index, first_ms, last_index, last_ms,
         hex(peaks)) AS state FROM index_list WHERE project = ?`,
    );
    return { saved, record, got: new Map(lists.all(no).map(({ key, state }) => [key, state])) };
  })();
  if (found === null) return null;
  const { saved, record, got } = found;
  return {
    size: saved.size,
    fn: readIndex(record ?? '')?.fn ?? mapFunction,
    compare: (map) => {
      const expected = new Map(
        map
          .unsaved()
          .lists.map(({ keyHash, valueHash, list: { n, first, firstMs, last, lastMs, peaks } }) => [
            asHex(keyHash),
            [asHex(valueHash), n, first, firstMs, last, lastMs, asHex(peaks)].join(' '),
          ]),
      );
      const differing = new Set(
        [...expected.keys(), ...got.keys()].filter((key) => expected.get(key) !== got.get(key)),
      );
      const sameRoot = PrefixTree.closed(saved.parts)?.root().equals(map.root()) === true;
      if (differing.size === 0 && sameRoot && saved.ms === map.ms) return;
      problem(`${projectId}/index_map`, 'index_mismatch', {
        expected: `the ${expected.size} lists and the root that the leaves below ${saved.size} give`,
        got: `${sameRoot ? 'this' : 'another'} root, and ${differing.size} lists that differ; gov log index build makes it again`,
      });
    },
  };
}

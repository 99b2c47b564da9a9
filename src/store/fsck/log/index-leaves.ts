/**
 * `fsck`: derives the map of the log again, and compares every `gov.index/1` leaf and the saved map with it. Memory: about 600 bytes for each
 * run, of the log that is checked. A log with a missing record has no map from there on: other checks report the record.
 * Proven by `test/store/fsck/index-leaves.test.ts`.
 */
import { readIndex, type IndexRecord } from '../../../core/completeness/index-leaf.ts';
import { LogMap } from '../../../core/completeness/log-map.ts';
import { mapFunctions, readMapped } from '../../../core/completeness/map-function.ts';
import { hashText } from '../../../core/hash.ts';
import { leafHash } from '../../../core/merkle/tree.ts';
import type { Value } from '../../file/connection.ts';
import { positionSql } from '../../file/position.ts';
import { typeNumbers } from '../../rules/decided.ts';
import type { Check, CheckedProject } from '../check.ts';
import { savedMapCheck } from './saved-map.ts';

const indexEnding = '"type":"gov.index/1"}';

/** Null for a log without index leaves and saved map. `decided` names them, and `decidedCheck` compares it with the leaves. */
export function indexCheck(
  check: Check,
  project: CheckedProject,
): { visit(row: { readonly idx: number; readonly record: string }): void } | null {
  const { db, problem } = check;
  const { no, projectId } = project;
  const records = db
    .prepare<Value[], string>(
      `SELECT leaf.record FROM decided d JOIN leaf ON leaf.position = ${positionSql('d')}
       WHERE d.project = ? AND d.type = ${typeNumbers['gov.index/1']}`,
    )
    .pluck()
    .all(no);
  const read = records.map(readIndex);
  const saved = savedMapCheck(check, project);
  if (records.length === 0 && saved === null) return null;
  const maps = mapFunctions
    .map((fn) => ({
      map: new LogMap(null, fn),
      sizes: new Set(read.flatMap((leaf) => (leaf?.fn === fn ? [leaf.size] : []))),
      found: new Map<number, string>(),
    }))
    .filter(({ map, sizes }) => sizes.size > 0 || saved?.fn === map.fn);
  /** The time of the newest leaf that has one, and of the newest index leaf. */
  let [ms, newestMs] = [0, 0];
  let next = 0;
  const note = (): void => {
    for (const { map, sizes, found } of maps) {
      if (saved?.size === map.size && saved.fn === map.fn) saved.compare(map);
      if (!sizes.has(map.size)) continue;
      found.set(map.size, shown({ root: map.root(), keys: map.keys, throughMs: map.ms, fn: map.fn }));
    }
  };
  return {
    visit: ({ idx, record }) => {
      if (next !== idx) return; // a record is missing
      next += 1;
      note();
      const timed = readMapped(record).ms;
      const position = `${projectId}/audit/${idx}`;
      const leaf = record.endsWith(indexEnding) ? readIndex(record) : null;
      const isIndex = record.endsWith(indexEnding);
      // other checks compare the times of events with each other
      const least = isIndex ? ms : newestMs;
      if (timed !== null && timed < least) {
        const expected = `${new Date(least).toISOString()} or later`;
        problem(position, 'server_time_backwards', { expected, got: new Date(timed).toISOString() });
      }
      ms = Math.max(ms, timed ?? 0);
      if (isIndex) {
        newestMs = Math.max(newestMs, timed ?? 0);
        const derived = maps.find(({ map }) => map.fn === leaf?.fn)?.found.get(leaf?.size ?? -1);
        const expected = derived ?? 'the map of a size below it, by a known map function';
        const got = leaf === null ? 'another record' : shown(leaf);
        if (got !== expected) problem(position, 'index_mismatch', { expected, got });
      }
      const hash = leafHash(record).toString('latin1');
      for (const { map } of maps) map.add(hash, readMapped(record, map.fn));
    },
  };
}

const shown = ({
  root,
  keys,
  throughMs,
  fn,
}: Pick<IndexRecord, 'root' | 'keys' | 'throughMs' | 'fn'>): string =>
  `${keys} keys with root ${hashText(root)} by ${fn}, through ${new Date(throughMs).toISOString()}`;

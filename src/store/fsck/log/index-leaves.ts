/**
 * `fsck`: derives the map of the log again, and compares every `gov.index/1` leaf and the saved map with it. Memory: about 600 bytes for each
 * run, of the log that is checked. A log with a missing record has no map from there on: other checks report the record.
 * Proven by `test/store/fsck/index-leaves.test.ts`.
 */
import { readIndex, type IndexRecord } from '../../../core/completeness/index-leaf.ts';
import { LogMap } from '../../../core/completeness/log-map.ts';
import { mapFunction, readMapped } from '../../../core/completeness/map-function.ts';
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
  const sizes = new Set(records.map((record) => readIndex(record)?.size));
  const saved = savedMapCheck(check, project);
  if (sizes.size === 0 && saved === null) return null;
  const map = new LogMap();
  const found = new Map<number, Pick<IndexRecord, 'keys' | 'throughMs' | 'root'>>();
  /** The time of the newest index leaf. */
  let newestMs = 0;
  const note = (): void => {
    if (saved?.size === map.size) saved.compare(map);
    if (!sizes.has(map.size)) return;
    found.set(map.size, { root: map.root(), keys: map.keys, throughMs: map.ms });
  };
  return {
    visit: ({ idx, record }) => {
      if (map.size !== idx) return; // a record is missing
      note();
      const mapped = readMapped(record);
      const position = `${projectId}/audit/${idx}`;
      const isIndex = record.endsWith(indexEnding);
      // other checks compare the times of events with each other
      const least = isIndex ? map.ms : newestMs;
      if (mapped.ms !== null && mapped.ms < least) {
        const expected = `${new Date(least).toISOString()} or later`;
        problem(position, 'server_time_backwards', { expected, got: new Date(mapped.ms).toISOString() });
      }
      if (isIndex) {
        newestMs = Math.max(newestMs, mapped.ms ?? 0);
        const read = readIndex(record);
        const derived = read === null ? undefined : found.get(read.size);
        const expected =
          derived === undefined ? 'the map of a size below it' : shown({ ...derived, fn: mapFunction });
        const got = read === null ? 'another record' : shown(read);
        if (got !== expected) problem(position, 'index_mismatch', { expected, got });
      }
      map.add(leafHash(record).toString('latin1'), mapped);
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

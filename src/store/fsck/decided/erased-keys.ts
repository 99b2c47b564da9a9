/**
 * `fsck`: checks destroyed keys of subjects.
 * Each erasure that destroyed keys has their ids, each id has its erasure, and none of the keys still exists.
 * Proven by `test/store/erasure/subject-keys.test.ts`.
 */
import { readErasure } from '../../../core/decided/erasure.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import { subjectsOf } from '../../file/body-seal.ts';
import type { RecordCheck } from '../record.ts';
import type { Value } from '../../file/connection.ts';
import { keyReader } from '../../file/subjects.ts';

export function erasedKeyCheck(
  { db, problem }: Check,
  { no, projectId, auditSize }: CheckedProject,
): RecordCheck {
  const idsOf = db
    .prepare<Value[], string>('SELECT key_id FROM erased_key WHERE project = ? AND leaf_index = ?')
    .pluck();
  const subjects = subjectsOf(db);
  const find = subjects === null ? () => null : keyReader(subjects);
  /** Keys that exist when their erasure is read, by id. */
  const left = new Map<string, number>();
  let named = 0;
  return {
    visit: (index, record) => {
      if (record['type'] !== 'gov.erasure/1') return;
      const ids = idsOf.all(no, index);
      named += ids.length;
      for (const id of ids) if (find(id) !== null) left.set(id, index);
      const says = readErasure(JSON.stringify(record))?.keyDestroyed === true;
      if (says === ids.length > 0) return;
      const expected = says ? 'the ids of the keys that it destroyed' : 'no key destroyed';
      problem(`${projectId}/audit/${index}`, 'erasure_mismatch', { expected, got: `${ids.length} of them` });
    },
    finish: () => {
      for (const [id, index] of left) {
        // a serving process destroys the key shortly after the commit of its leaf
        if (find(id) === null) continue;
        const what = { expected: 'a destroyed key; the next start destroys it', got: `key ${id}` };
        problem(`${projectId}/audit/${index}`, 'erasure_mismatch', what);
      }
      const rows = db
        .prepare<Value[], number>('SELECT count(*) FROM erased_key WHERE project = ? AND leaf_index < ?')
        .pluck()
        .get(no, auditSize);
      if (rows === named) return;
      const what = { expected: `${named} destroyed keys, each named by an erasure`, got: `${rows ?? 0}` };
      problem(`${projectId}/erased_key`, 'erasure_mismatch', what);
    },
  };
}

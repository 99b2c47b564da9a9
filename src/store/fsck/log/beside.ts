/**
 * `fsck`: compares the rows by which a repeated event is recognized, and by which an erasure finds its events, with the
 * bodies of events. A body that cannot be opened does not say what its rows are.
 * Proven by `test/store/fsck/tamper-beside.test.ts`.
 */
import { disclosuresMatch, valuesAt } from '../../../core/events/bodies.ts';
import { closedBody } from '../../erasure/body-seal.ts';
import { idsOf, noSubject } from '../../erasure/subject-keys.ts';
import { subjectsOf } from '../../file/body-seal.ts';
import type { Value } from '../../file/connection.ts';
import type { Check, CheckedProject } from '../check.ts';

interface Row {
  readonly idx: number;
  readonly record: string;
  /** Null: no row. */
  readonly disclosures: string | null;
  readonly erased: string | null;
  /** Ids of the keys that seal the body; null where it is not sealed by subject. */
  readonly keys: string | null;
  /** The keys that seal it are destroyed or missing. */
  readonly isGone?: true;
}

export interface BesideCheck {
  /** Called with each event in index order. */
  visit(row: Row): void;
  /** `unread`: leaves that are missing or malformed, which other checks report. */
  finish(unread: number): void;
}

/** `prunedBelow`: below this index rows may be gone. */
export function besideCheck(check: Check, project: CheckedProject, prunedBelow: number): BesideCheck {
  const repeats = repeatCheck(check, project, prunedBelow);
  const subjects = subjectCheck(check, project);
  return {
    visit: (row) => {
      subjects(row);
      repeats.visit(row);
    },
    finish: repeats.finish,
  };
}

const pointer = '/clientEventId';
const wanted = new Set([pointer]);

/** A missing row of `client_event` would let a repeated event be recorded twice. */
function repeatCheck({ db, problem }: Check, { no, projectId, auditSize }: CheckedProject, from: number) {
  const find = db
    .prepare<Value[], number>('SELECT idx FROM client_event WHERE project = ? AND client_event_id = ?')
    .pluck();
  let found = 0;
  let closed = 0;
  const visit = ({ idx, record, disclosures, erased, isGone }: Row): void => {
    const isOpen = disclosures !== null && isGone !== true && disclosures !== closedBody && erased === null;
    if (isOpen && !disclosures.includes(pointer)) return;
    if (!isOpen || !disclosuresMatch(record, disclosures)) {
      closed += 1;
      return;
    }
    const id = valuesAt(disclosures, wanted).get(pointer);
    if (typeof id !== 'string') return;
    found += 1;
    const row = find.get(no, id);
    if (row === idx) return;
    const expected = `a row of clientEventId ${id} for leaf ${idx}`;
    const got = row === undefined ? 'no such row' : `leaf ${row}`;
    problem(`${projectId}/client_event/${idx}`, 'index_mismatch', { expected, got });
  };
  const finish = (unread: number): void => {
    const rows = db
      .prepare<Value[], number>(
        'SELECT count(*) FROM client_event WHERE project = ? AND idx >= ? AND idx < ?',
      )
      .pluck()
      .get(no, from, auditSize);
    if (rows === undefined || rows <= found + closed + unread) return;
    const expected = `${found} rows, one for each event with a clientEventId`;
    problem(`${projectId}/client_event`, 'index_mismatch', { expected, got: `${rows}` });
  };
  return { visit, finish };
}

/** A missing row of `subject` would hide an event from an erasure. The keys that seal a body name its subjects. */
function subjectCheck({ db, problem }: Check, { no, projectId }: CheckedProject) {
  const file = subjectsOf(db);
  if (file === null) return () => {};
  const named = file.prepare<Value[], string>('SELECT subject FROM subject_key WHERE key_id = ?').pluck();
  const find = db.prepare<Value[]>('SELECT 1 FROM subject WHERE project = ? AND subject = ? AND idx = ?');
  const destroyed = db.prepare<Value[]>('SELECT 1 FROM erased_key WHERE project = ? AND key_id = ?');
  return ({ idx, keys, erased }: Row): void => {
    if (erased !== null) return;
    for (const id of idsOf(keys)) {
      const subject = named.get(id);
      // the key of an erased subject names nobody, also in an older copy of the log that lacks the erasure
      if (subject === undefined || subject === noSubject || destroyed.get(no, id) !== undefined) continue;
      if (find.get(no, subject, idx) !== undefined) continue;
      const expected = `a row of the subject whose key ${id} seals the body`;
      problem(`${projectId}/subject/${idx}`, 'index_mismatch', { expected, got: 'no such row' });
    }
  };
}

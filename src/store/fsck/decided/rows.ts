/**
 * `fsck`: compares the leaves of decisions with the rows that index them, and checks the claims of snapshots.
 * One statement per case, all in one transaction, finds rows without a leaf.
 * Proven by `test/store/fsck/tamper-governed.test.ts`.
 */
import type { JsonObject } from '../../../core/json/parse.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import type { IndexedLeaf } from '../../port/store.ts';
import { shown, type RecordCheck } from '../record.ts';
import type { Value } from '../../file/connection.ts';
import { isIndexed, typeNumbers } from '../../rules/decided.ts';

/** The member with the id of a leaf; null if its type has none. */
const idMember: Readonly<Record<IndexedLeaf, string | null>> = {
  'gov.evaluation/1': 'id',
  'gov.decision/1': 'id',
  'gov.approval/1': 'id',
  'gov.snapshot/1': null,
  'gov.replay/1': 'replayId',
  'gov.policy/1': null,
  'gov.config/1': null,
  'gov.erasure/1': 'erasureId',
  'gov.prune/1': null,
  'gov.key/1': null,
  'gov.index/1': null,
  'gov.use/1': 'id',
  'gov.approver/1': 'approverId',
  'gov.loss/1': null,
};

interface DecidedRow {
  readonly run_id: string | null;
  readonly id: string | null;
}

/** Checks that each leaf of an indexed type has its row, and each row its leaf. */
export function decidedCheck({ db, problem }: Check, project: CheckedProject): RecordCheck {
  const find = db.prepare<Value[], DecidedRow>(
    'SELECT run_id, id FROM decided WHERE project = ? AND type = ? AND idx = ?',
  );
  let leaves = 0;
  const visit = (index: number, record: JsonObject): void => {
    const type = shown(record['type']);
    if (!isIndexed(type)) return;
    leaves += 1;
    const member = idMember[type];
    const expected = describe(type, record['runId'], member === null ? null : record[member]);
    const row = find.get(project.no, typeNumbers[type], index);
    const got = row === undefined ? 'no such row' : describe(type, row.run_id, row.id);
    if (got !== expected) problem(`${project.projectId}/audit/${index}`, 'index_mismatch', { expected, got });
  };
  const finish = (): void => {
    const rows = db
      .prepare<Value[], number>('SELECT count(*) FROM decided WHERE project = ? AND idx < ?')
      .pluck()
      .get(project.no, project.auditSize);
    if (rows === leaves) return;
    const expected = `${leaves} rows, one for each leaf of a decision`;
    problem(`${project.projectId}/decided`, 'index_mismatch', { expected, got: `${rows ?? 0}` });
  };
  return { visit, finish };
}

const describe = (type: string, runId: unknown, id: unknown): string =>
  `a ${type} of run ${shown(runId)} with id ${shown(id)}`;

/** Checks that each run with a snapshot has its claim, and each claim its snapshot. */
export function snapshotCheck({ db, problem }: Check, { no, projectId }: CheckedProject): RecordCheck {
  const find = db.prepare<Value[]>('SELECT 1 FROM run_snapshot WHERE project = ? AND run_id = ?');
  const visit = (_index: number, { type, runId }: JsonObject): void => {
    if (type !== 'gov.snapshot/1' || find.get(no, shown(runId)) !== undefined) return;
    const what = { expected: 'a claim of the run, against a second snapshot', got: 'no such row' };
    problem(`${projectId}/snapshot/${shown(runId)}`, 'index_mismatch', what);
  };
  const finish = (): void => {
    const rows = db
      .prepare<Value[], { run_id: string }>(
        `SELECT run_id FROM run_snapshot s WHERE project = ? AND NOT EXISTS (
           SELECT 1 FROM decided d WHERE d.project = s.project AND d.run_id = s.run_id
             AND d.type = ${typeNumbers['gov.snapshot/1']})`,
      )
      .all(no);
    for (const { run_id: runId } of rows) {
      const what = { expected: 'a gov.snapshot/1 leaf of the run', got: 'none' };
      problem(`${projectId}/snapshot/${runId}`, 'index_mismatch', what);
    }
  };
  return { visit, finish };
}

/**
 * `fsck`: compares every column of an approval but the key of its call with the evaluation that opened it, the
 * gov.approval/1 leaf that decided it and the gov.use/1 leaf of its use.
 * Reason and comment are compared only if the bodies of these leaves are stored. One statement per case, all
 * in one transaction, finds rows without a leaf.
 * Proven by `test/store/fsck/tamper-governed.test.ts`.
 */
import { openApproval, openUse } from '../../../core/decided/approval.ts';
import { escalationReason, openEvaluation } from '../../../core/decided/evaluation.ts';
import type { JsonObject } from '../../../core/json/parse.ts';
import { parseTimestamp } from '../../../core/time.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import { columnCheck, type Columns } from '../columns.ts';
import { shown, type CommittedReader, type RecordCheck } from '../record.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { typeNumbers } from '../../rules/decided.ts';
import { positionSql } from '../../file/position.ts';
import { isObject } from '../../../core/json/object.ts';

export function approvalCheck(check: Check, { no, projectId }: CheckedProject): RecordCheck {
  const { db, problem } = check;
  const find = db.prepare<Value[], Columns>('SELECT * FROM approval WHERE project = ? AND approval_id = ?');
  const compareColumns = columnCheck(check, 'approval_mismatch');
  const compare = (id: string, logged: Columns): void =>
    compareColumns(`${projectId}/approval/${id}`, find.get(no, id), logged);
  const visit = (index: number, record: JsonObject, committed: CommittedReader): void => {
    if (record['type'] === 'gov.evaluation/1' && isObject(record['approval'])) {
      compare(shown(record['approval']['id']), openedBy(index, record, committed));
    }
    if (record['type'] === 'gov.approval/1')
      compare(shown(record['id']), decidedBy(index, record, committed));
    // a use with the id of an evaluation says who joined it, which no row has
    if (record['type'] === 'gov.use/1' && !shown(record['id']).startsWith('pev_'))
      compare(shown(record['id']), usedBy(index, record, committed));
  };
  const finish = (): void => {
    const report = (ids: readonly string[], expected: string): void => {
      for (const id of ids) {
        problem(`${projectId}/approval/${id}`, 'approval_mismatch', { expected, got: 'none' });
      }
    };
    const { unopened, undecided, unused } = rowsWithoutLeaf(db, no);
    report(unopened, 'the gov.evaluation/1 leaf that opened it');
    report(undecided, 'its gov.approval/1 leaf');
    report(unused, 'its gov.use/1 leaf');
  };
  return { visit, finish };
}

/** The record may be altered, which is reported elsewhere: its members may have any type. */
function openedBy(index: number, clear: JsonObject, committed: CommittedReader): Columns {
  const opened = openEvaluation({ index, clear, committed: committed() });
  const { id, runId, approval, evaluatedAt, decisions, list } = opened;
  return {
    evaluation_id: shown(id),
    run_id: shown(runId),
    requested_by: shown(approval?.requestedBy),
    requested_ms: parseTimestamp(shown(evaluatedAt)),
    expires_ms: parseTimestamp(shown(approval?.expiresAt)),
    // an erased decision may have been the first one that escalated
    ...(decisions.length === list?.n ? { reason: escalationReason(decisions) } : {}),
  };
}

function decidedBy(index: number, clear: JsonObject, committed: CommittedReader): Columns {
  const decided = openApproval({ index, clear, committed: committed() });
  const { runId, evaluationId, outcome, approver, at, reason } = decided;
  return {
    run_id: shown(runId),
    evaluation_id: shown(evaluationId),
    outcome: shown(outcome),
    decided_by: shown(approver),
    decided_ms: parseTimestamp(shown(at)),
    ...(reason === undefined ? {} : { comment: reason }),
  };
}

function usedBy(index: number, clear: JsonObject, committed: CommittedReader): Columns {
  const { runId, evaluationId, at } = openUse({ index, clear, committed: committed() });
  return { run_id: shown(runId), used_by: shown(evaluationId), used_ms: parseTimestamp(shown(at)) };
}

function rowsWithoutLeaf(
  db: Connection,
  project: number,
): Record<'unopened' | 'undecided' | 'unused', string[]> {
  const without = (leaf: string, condition: string): string[] =>
    db
      .prepare<Value[], string>(
        `SELECT approval_id FROM approval a WHERE project = ? AND ${condition} AND NOT EXISTS (
           SELECT 1 FROM decided d ${leaf})`,
      )
      .pluck()
      .all(project);
  return {
    // the record contains the id of the opened approval, which has no quotes or backslashes
    unopened: without(
      `JOIN leaf ON leaf.position = ${positionSql('d')}
       WHERE d.project = a.project AND d.type = ${typeNumbers['gov.evaluation/1']} AND d.id = a.evaluation_id
         AND instr(leaf.record, '"id":"' || a.approval_id || '"') > 0`,
      'true',
    ),
    undecided: without(
      `WHERE d.project = a.project AND d.type = ${typeNumbers['gov.approval/1']} AND d.id = a.approval_id`,
      'outcome IS NOT NULL',
    ),
    unused: hasUses(db)
      ? without(
          `WHERE d.project = a.project AND d.type = ${typeNumbers['gov.use/1']} AND d.id = a.approval_id`,
          'used_by IS NOT NULL',
        )
      : [],
  };
}

/** False in a database before the migration that adds the column. */
const hasUses = (db: Connection): boolean =>
  (db.pragma('table_info(approval)') as { name: string }[]).some(({ name }) => name === 'used_by');

/**
 * Approvals: an escalated evaluation opens one, one decision closes it, and one evaluation uses it.
 * Proven by `test/store/suite/governance/approvals.ts`.
 */
import { approvalColumns, approvalOf, type ApprovalRow } from '../../rules/approval-row.ts';
import type { ApprovalRows } from '../../append/approvals.ts';
import { selected } from '../../rules/columns.ts';
import { approvalWrites } from '../../write/approvals.ts';
import type { Writer } from '../../write/statement.ts';
import type { Current } from './current.ts';
import type { Prepare } from '../../file/statement.ts';

/** Writes rows of approvals of the current project. */
export function approvalRows(prepare: Prepare, current: Current, write: Writer<number>): ApprovalRows {
  const find = prepare<ApprovalRow>(
    'find approval',
    `SELECT ${selected(approvalColumns)} FROM approval WHERE project = ? AND approval_id = ?`,
  );
  const newest = prepare<{ approval_id: string }>(
    'find newest approval of a call',
    `SELECT approval_id FROM approval WHERE project = ? AND call_key = ?
     ORDER BY requested_ms DESC, approval_id DESC LIMIT 1`,
  );
  return {
    ...approvalWrites(write),
    approval: (approvalId) => {
      const row = find.get(current.project, approvalId);
      return row === undefined ? null : approvalOf(row);
    },
    newestOfCall: (callKey) => newest.get(current.project, callKey)?.approval_id ?? null,
  };
}

/**
 * Approvals: an escalated evaluation opens one, one decision closes it, and one evaluation uses it.
 * Proven by `test/store/suite/governance/approvals.ts`.
 */
import { approvalColumns, approvalOf, type ApprovalRow } from '../../rules/approval-row.ts';
import type { ApprovalRows } from '../../append/approvals.ts';
import type { Current } from './current.ts';
import type { Prepare } from '../../file/statement.ts';

/** Writes rows of approvals of the current project. */
export function approvalRows(prepare: Prepare, current: Current): ApprovalRows {
  const insert = prepare(
    'open approval',
    `INSERT INTO approval (project, approval_id, evaluation_id, run_id, reason, requested_ms, requested_by,
       expires_ms, call_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const find = prepare<ApprovalRow>(
    'find approval',
    `SELECT ${approvalColumns} FROM approval WHERE project = ? AND approval_id = ?`,
  );
  const decide = prepare(
    'decide approval',
    `UPDATE approval SET outcome = ?, decided_by = ?, comment = ?, decided_ms = ?
     WHERE project = ? AND approval_id = ?`,
  );
  const newest = prepare<{ approval_id: string }>(
    'find newest approval of a call',
    `SELECT approval_id FROM approval WHERE project = ? AND call_key = ?
     ORDER BY requested_ms DESC, approval_id DESC LIMIT 1`,
  );
  const use = prepare(
    'use approval',
    'UPDATE approval SET used_by = ?, used_ms = ? WHERE project = ? AND approval_id = ?',
  );
  return {
    openApproval: (opened) => {
      const { approvalId, evaluationId, runId, reason, requestedMs, requestedBy, expiresMs, callKey } =
        opened;
      const texts = [approvalId, evaluationId, runId, reason];
      insert.run(current.project, ...texts, requestedMs, requestedBy, expiresMs, callKey);
    },
    approval: (approvalId) => {
      const row = find.get(current.project, approvalId);
      return row === undefined ? null : approvalOf(row);
    },
    newestOfCall: (callKey) => newest.get(current.project, callKey)?.approval_id ?? null,
    decideApproval: ({ approvalId, outcome, by, comment, atMs }) => {
      decide.run(outcome, by, comment, atMs, current.project, approvalId);
    },
    useApproval: ({ approvalId, evaluationId, atMs }) => {
      use.run(evaluationId, atMs, current.project, approvalId);
    },
  };
}

/**
 * Approvals: an escalated evaluation opens one, and one decision closes it.
 * Proven by `test/store/suite/governance/approvals.ts`.
 */
import { approvalColumns, approvalOf, type ApprovalRow } from '../../rules/approval-row.ts';
import type { EffectRows } from '../../append/effects.ts';
import type { Current } from './current.ts';
import type { Prepare } from '../../file/statement.ts';

/** Writes rows of approvals of the current project. */
export function approvalRows(
  prepare: Prepare,
  current: Current,
): Pick<EffectRows, 'openApproval' | 'approval' | 'decideApproval'> {
  const insert = prepare(
    'open approval',
    `INSERT INTO approval (project, approval_id, evaluation_id, run_id, reason, requested_ms, requested_by,
       expires_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
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
  return {
    openApproval: ({ approvalId, evaluationId, runId, reason, requestedMs, requestedBy, expiresMs }) => {
      const texts = [approvalId, evaluationId, runId, reason];
      insert.run(current.project, ...texts, requestedMs, requestedBy, expiresMs);
    },
    approval: (approvalId) => {
      const row = find.get(current.project, approvalId);
      return row === undefined ? null : approvalOf(row);
    },
    decideApproval: ({ approvalId, outcome, by, comment, atMs }) => {
      decide.run(outcome, by, comment, atMs, current.project, approvalId);
    },
  };
}

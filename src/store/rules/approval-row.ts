/**
 * The row of an approval, the same in both engines.
 * Proven by `test/store/suite/governance/approvals.ts`.
 */
import type { ApprovalOutcome } from '../../contract/approvals.ts';
import type { StoredApproval } from '../port/store.ts';

export interface ApprovalRow {
  approval_id: string;
  evaluation_id: string;
  run_id: string;
  reason: string;
  requested_ms: number;
  requested_by: string;
  expires_ms: number;
  outcome: ApprovalOutcome | null;
  decided_by: string | null;
  comment: string | null;
  decided_ms: number | null;
  call_key: string | null;
  used_by: string | null;
  used_ms: number | null;
}

export const approvalColumns = `approval_id, evaluation_id, run_id, reason, requested_ms, requested_by, expires_ms, outcome,
  decided_by, comment, decided_ms, call_key, used_by, used_ms`;

export const approvalOf = (row: ApprovalRow): StoredApproval => ({
  approvalId: row.approval_id,
  evaluationId: row.evaluation_id,
  runId: row.run_id,
  reason: row.reason,
  requestedMs: row.requested_ms,
  requestedBy: row.requested_by,
  expiresMs: row.expires_ms,
  decision: decisionOf(row),
  callKey: row.call_key,
  used: usedOf(row),
});

function decisionOf(row: ApprovalRow): StoredApproval['decision'] {
  const { outcome, decided_by: by, decided_ms: atMs, comment } = row;
  return outcome === null || by === null || atMs === null ? null : { outcome, by, comment, atMs };
}

const usedOf = ({ used_by: evaluationId, used_ms: atMs }: ApprovalRow): StoredApproval['used'] =>
  evaluationId === null || atMs === null ? null : { evaluationId, atMs };

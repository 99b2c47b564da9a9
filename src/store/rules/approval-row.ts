/**
 * The row of an approval, the same in both engines.
 * Proven by `test/store/suite/governance/approvals.ts`.
 */
import type { ApprovalOutcome } from '../../contract/approvals.ts';
import type { StoredApproval } from '../port/store.ts';
import { columnsOf, words } from './columns.ts';

export type ApprovalRow = Omit<StoredApproval, 'decision' | 'used'> & {
  readonly outcome: ApprovalOutcome | null;
  readonly decidedBy: string | null;
  readonly comment: string | null;
  readonly decidedMs: number | null;
  readonly usedBy: string | null;
  readonly usedMs: number | null;
};

export const approvalColumns = columnsOf<ApprovalRow>('approval', {
  approvalId: 'approval_id',
  evaluationId: 'evaluation_id',
  runId: 'run_id',
  reason: words('reason'),
  requestedMs: 'requested_ms',
  requestedBy: 'requested_by',
  expiresMs: 'expires_ms',
  outcome: 'outcome',
  decidedBy: 'decided_by',
  comment: words('comment'),
  decidedMs: 'decided_ms',
  callKey: 'call_key',
  usedBy: 'used_by',
  usedMs: 'used_ms',
});

export function approvalOf(row: ApprovalRow): StoredApproval {
  const { outcome, decidedBy, comment, decidedMs, usedBy, usedMs, ...rest } = row;
  return { ...rest, ...stateOf({ outcome, decidedBy, comment, decidedMs, usedBy, usedMs }) };
}

type StateRow = Pick<ApprovalRow, 'outcome' | 'decidedBy' | 'comment' | 'decidedMs' | 'usedBy' | 'usedMs'>;

/** The decision and the use; their columns are all null or all set. */
export const stateOf = (row: StateRow): Pick<StoredApproval, 'decision' | 'used'> => {
  const { outcome, decidedBy: by, comment, decidedMs: atMs, usedBy: evaluationId, usedMs } = row;
  return {
    decision: outcome === null || by === null || atMs === null ? null : { outcome, by, comment, atMs },
    used: evaluationId === null || usedMs === null ? null : { evaluationId, atMs: usedMs },
  };
};

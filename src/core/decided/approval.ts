/**
 * The leaf of a decided approval, `gov.approval/1` (docs/proofs.md, contract O9).
 * Proven by `test/core/decided/approval.test.ts`.
 */
import type { ApprovalOutcome } from '../../contract/approvals.ts';
import { draftLeaf, type OtherDraft } from '../record.ts';
import type { OpenLeaf } from './leaf.ts';

export interface ApprovalRecord {
  readonly id: string;
  readonly runId: string;
  readonly evaluationId: string;
  readonly outcome: ApprovalOutcome;
  readonly at: string;
}

export function draftApproval(
  approval: ApprovalRecord & { readonly approver: string; readonly reason: string | null },
  salt: () => string,
): OtherDraft {
  const { runId, approver, reason, ...fields } = approval;
  const committed: [string, string | null][] = [
    ['/approver', approver],
    ['/reason', reason],
  ];
  return draftLeaf('gov.approval/1', fields, { runId, id: approval.id, committed, salt });
}

export function openApproval({ clear }: OpenLeaf): ApprovalRecord {
  const { id, runId, evaluationId, outcome, at } = clear as unknown as ApprovalRecord;
  return { id, runId, evaluationId, outcome, at };
}

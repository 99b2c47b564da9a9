/**
 * The leaf of a decided approval, `gov.approval/1` (`docs/reference/proof-format.md`, contract O9). In clear: approver, outcome, time.
 * Committed: the reason. And the leaf of its use, `gov.use/1`, all in clear: the evaluation that let the approved call run.
 * Proven by `test/core/decided/approval.test.ts`.
 */
import type { ApprovalOutcome } from '../../contract/approvals.ts';
import { draftLeaf, type OtherDraft } from '../event/record.ts';
import type { OpenLeaf } from './leaf.ts';

export interface ApprovalRecord {
  readonly id: string;
  readonly runId: string;
  readonly evaluationId: string;
  readonly outcome: ApprovalOutcome;
  /** Key id of the approver. */
  readonly approver: string;
  readonly at: string;
}

export function draftApproval(
  approval: ApprovalRecord & { readonly reason: string | null },
  salt: () => string,
): OtherDraft {
  const { runId, reason, ...fields } = approval;
  const committed: [string, string | null][] = [['/reason', reason]];
  return draftLeaf('gov.approval/1', fields, { runId, id: approval.id, committed, salt });
}

/** Reads a leaf. `reason` is null if none was given, undefined if it is erased. */
export function openApproval({
  clear,
  committed,
}: OpenLeaf): ApprovalRecord & { readonly reason: string | null | undefined } {
  const { id, runId, evaluationId, outcome, approver, at } = clear as unknown as ApprovalRecord;
  const reason = committed.get('reason') as string | null | undefined;
  return { id, runId, evaluationId, outcome, approver, at, reason };
}

export interface UseRecord {
  /** Id of the approval. */
  readonly id: string;
  readonly runId: string;
  /** The evaluation that allowed the approved call. */
  readonly evaluationId: string;
  readonly at: string;
}

export const draftUse = ({ runId, ...fields }: UseRecord): OtherDraft =>
  draftLeaf('gov.use/1', fields, { runId, id: fields.id });

export function openUse({ clear }: OpenLeaf): UseRecord {
  const { id, runId, evaluationId, at } = clear as unknown as UseRecord;
  return { id, runId, evaluationId, at };
}

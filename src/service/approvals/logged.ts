/**
 * Reads approvals that agree with the log: the evaluation that opened one, the leaf of its decision, and the
 * leaf of its use. Proven by `test/service/approvals/handlers.engines.test.ts`.
 */
import { approvalFault, factsOfCall, seenIn, type Approver } from '../../core/approvals/signature.ts';
import {
  openApproval,
  openUse,
  type DecidedApproval,
  type SignatureRecord,
} from '../../core/decided/approval.ts';
import { askedCall, openEvaluation, type OpenEvaluation } from '../../core/decided/evaluation.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { Leaf, Project, StoredApproval, StoreReader } from '../../store/port/store.ts';
import { loggedApprovers } from '../approvers/logged.ts';
import { contradiction } from '../log/contradiction.ts';

/** An approval whose row agrees with its leaves, the evaluation that opened it, and the bytes of that. */
export interface LoggedApproval extends StoredApproval {
  readonly evaluation: OpenEvaluation;
  readonly bytes: number;
  /** Index of the leaf of that evaluation. */
  readonly openedIndex: number;
  /** Who signed the decision, and what; null for one without a signature. */
  readonly signed: { readonly signer: Approver; readonly signature: SignatureRecord } | null;
}

type InProject = Pick<Project, 'projectId' | 'auditOrigin'>;

/**
 * The approval, or null where there is none. STORAGE_FAULT where its row contradicts the leaves: who asked,
 * how long it is open, whether and how it was decided, whether it was used, and who signed. Agents act on it, so an altered
 * row and a forged signature must open nothing. Cost: two or three leaves, about 25 µs each; those of all approvers where
 * the decision is signed.
 */
export async function loggedApproval(
  store: StoreReader,
  project: InProject,
  approvalId: string,
): Promise<LoggedApproval | null> {
  const { projectId } = project;
  // read before the row, so that the row reflects every leaf seen here
  const before = await store.leafOf(projectId, 'gov.approval/1', approvalId);
  const use = before === null ? null : await store.leafOf(projectId, 'gov.use/1', approvalId);
  const row = await store.approval(projectId, approvalId);
  if (row === null) return null;
  const approval = { ...row, ...(await openedBy(store, projectId, row)), signed: null };
  if (approval.used !== null || use !== null) await refuseOtherUse(store, projectId, { approval, use });
  if (approval.decision === null && before === null) return approval;
  const decided = before ?? (await store.leafOf(projectId, 'gov.approval/1', approvalId));
  const decision = decided === null ? null : openApproval(openLeaf(decided));
  if (decided === null || decision === null || !isDecidedBy(approval, decision))
    throw contradiction(`the decision of approval ${approvalId}`, decided);
  return {
    ...approval,
    signed: await signedBy(store, project, { approval, decision, index: decided.index }),
  };
}

/** Who signed a decision. STORAGE_FAULT where the signature does not hold, or lacks where the policies require one. */
async function signedBy(
  store: StoreReader,
  { projectId, auditOrigin: origin }: InProject,
  of: { approval: LoggedApproval; decision: DecidedApproval; index: number },
): Promise<LoggedApproval['signed']> {
  const { approval, decision, index } = of;
  const { signed, signature, outcome } = decision;
  const { evaluation, openedIndex } = approval;
  const { approval: opened, policySetHash } = evaluation;
  const isRequired = outcome === 'approved' && opened?.signatureRequired === true;
  if (opened === null || (signed === undefined && !isRequired)) return null;
  const approvers = await loggedApprovers(store, projectId);
  const signer = approvers.get(signed?.approverId ?? '');
  const facts = {
    origin,
    evaluationId: evaluation.id,
    runId: evaluation.runId,
    openedIndex,
    opened,
    policySetHash,
    call:
      evaluation.checkpoint === null
        ? null
        : factsOfCall(askedCall(evaluation.checkpoint, evaluation.policySource)),
    seen: seenIn(evaluation),
  };
  const fault = approvalFault({ ...decision, index }, signer, facts);
  if (fault !== null || signer === undefined || signature === undefined)
    throw contradiction(`the signature of approval ${approval.approvalId}: ${fault ?? 'no approver'};`, {
      index,
    });
  return { signer, signature };
}

/** STORAGE_FAULT where the row and the leaf of the use differ, or only one of them exists. */
async function refuseOtherUse(
  store: StoreReader,
  projectId: string,
  { approval, use }: { approval: StoredApproval; use: Leaf | null },
): Promise<void> {
  const { approvalId, runId, used } = approval;
  const leaf = use ?? (await store.leafOf(projectId, 'gov.use/1', approvalId));
  const logged = leaf === null ? null : openUse(openLeaf(leaf));
  const isSame =
    logged !== null &&
    used !== null &&
    logged.runId === runId &&
    logged.evaluationId === used.evaluationId &&
    parseTimestamp(logged.at) === used.atMs;
  if (!isSame) throw contradiction(`the use of approval ${approvalId}`, leaf);
}

/** The evaluation that opened an approval, and its bytes. STORAGE_FAULT where its leaf contradicts the row. */
async function openedBy(
  store: StoreReader,
  projectId: string,
  row: StoredApproval,
): Promise<Pick<LoggedApproval, 'evaluation' | 'bytes' | 'openedIndex'>> {
  const leaf = await store.leafOf(projectId, 'gov.evaluation/1', row.evaluationId);
  const evaluation = leaf === null ? null : openEvaluation(openLeaf(leaf));
  if (leaf === null || evaluation === null || !isOpenedBy(row, evaluation))
    throw contradiction(`approval ${row.approvalId}`, leaf);
  return { evaluation, openedIndex: leaf.index, bytes: leaf.record.length + (leaf.disclosures?.length ?? 0) };
}

function isOpenedBy(row: StoredApproval, { runId, approval, evaluatedAt }: OpenEvaluation): boolean {
  return (
    approval !== null &&
    row.runId === runId &&
    row.approvalId === approval.id &&
    row.requestedBy === approval.requestedBy &&
    row.requestedMs === parseTimestamp(evaluatedAt) &&
    row.expiresMs === parseTimestamp(approval.expiresAt)
  );
}

/** Whether the row and the leaf agree on the decision. An erased reason remains in the row alone. */
function isDecidedBy({ decision }: StoredApproval, logged: ReturnType<typeof openApproval>): boolean {
  return (
    decision !== null &&
    decision.outcome === logged.outcome &&
    decision.by === logged.approver &&
    decision.atMs === parseTimestamp(logged.at) &&
    (logged.reason === undefined || decision.comment === logged.reason)
  );
}

/**
 * Reads approvals that agree with the log: the evaluation that opened one, the leaf of its decision, and the
 * leaf of its use. Proven by `test/service/policies/approvals.engines.test.ts`.
 */
import { openApproval, openUse } from '../../core/decided/approval.ts';
import { openEvaluation, type Evaluation } from '../../core/decided/evaluation.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { Leaf, StoredApproval, StoreReader } from '../../store/port/store.ts';
import { contradiction } from '../proofs/contradiction.ts';

/** An approval whose row agrees with its leaves, the evaluation that opened it, and the bytes of that. */
export interface LoggedApproval extends StoredApproval {
  readonly evaluation: Evaluation;
  readonly bytes: number;
}

/**
 * The approval, or null where there is none. STORAGE_FAULT where its row contradicts the leaves: who asked,
 * how long it is open, whether and how it was decided, whether it was used. Agents act on it, so an altered row must open
 * nothing. Cost: two or three leaves, about 25 µs each.
 */
export async function loggedApproval(
  store: StoreReader,
  projectId: string,
  approvalId: string,
): Promise<LoggedApproval | null> {
  // read before the row, so that the row reflects every leaf seen here
  const before = await store.leafOf(projectId, 'gov.approval/1', approvalId);
  const use = before === null ? null : await store.leafOf(projectId, 'gov.use/1', approvalId);
  const row = await store.approval(projectId, approvalId);
  if (row === null) return null;
  const approval = { ...row, ...(await openedBy(store, projectId, row)) };
  if (approval.used !== null || use !== null) await refuseOtherUse(store, projectId, { approval, use });
  if (approval.decision === null && before === null) return approval;
  const decided = before ?? (await store.leafOf(projectId, 'gov.approval/1', approvalId));
  if (decided === null || !isDecidedBy(approval, openApproval(openLeaf(decided))))
    throw contradiction(`the decision of approval ${approvalId}`, decided);
  return approval;
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
): Promise<{ evaluation: Evaluation; bytes: number }> {
  const leaf = await store.leafOf(projectId, 'gov.evaluation/1', row.evaluationId);
  const evaluation = leaf === null ? null : openEvaluation(openLeaf(leaf));
  if (leaf === null || evaluation === null || !isOpenedBy(row, evaluation))
    throw contradiction(`approval ${row.approvalId}`, leaf);
  return { evaluation, bytes: leaf.record.length + (leaf.disclosures?.length ?? 0) };
}

function isOpenedBy(row: StoredApproval, { runId, approval, evaluatedAt }: Evaluation): boolean {
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

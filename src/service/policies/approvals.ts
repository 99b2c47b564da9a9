/**
 * Approvals of escalated decisions (contract O9). Another principal than the one that asked decides, once.
 * Leaf `gov.approval/1`, audit event and row are one append; a crash before the store answers leaves all of
 * it or none. Proven by `test/service/policies/approvals.engines.test.ts`.
 */
import type { Approval } from '../../contract/approvals.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { draftApproval, openApproval } from '../../core/decided/approval.ts';
import { openEvaluation, type Evaluation } from '../../core/decided/evaluation.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import type { PolicyInput } from '../../core/policy/evaluate/compile.ts';
import { formatTimestamp, parseTimestamp } from '../../core/time.ts';
import type { StoredApproval, StoreReader } from '../../store/port/store.ts';
import { unmetered } from '../events/append.ts';
import { appendFor } from '../events/asking.ts';
import { idempotencyWrite } from '../call/idempotency.ts';
import { notFound } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers } from '../call/handler.ts';
import { contradiction } from '../proofs/contradiction.ts';
import { byAge, listPage, pageLimit } from '../call/pages.ts';
import { isSamePrincipal } from '../access/principals.ts';
import type { Services } from '../dependencies.ts';
import { inTurns } from '../call/time-slice.ts';
import { approvalDecided } from '../system.ts';

export const approvals: Pick<Handlers, 'listApprovals' | 'getApproval' | 'decideApproval'> = {
  async listApprovals({ query, caller }, services) {
    const { projectId } = caller.project;
    const { status, runId, cursor } = query;
    const filters = {
      ...(status === undefined ? {} : { status }),
      ...(runId === undefined ? {} : { runId }),
    };
    const atMs = services.now();
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'approvals', projectId, filters },
      cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: Parameters<typeof services.store.approvals>[2]) =>
        services.store.approvals(projectId, { ...filters, atMs }, page),
      position: ({ requestedMs, approvalId }) => byAge(requestedMs, approvalId),
    });
    return { status: 200, body: { data: rows.map((row) => approvalBody(row, atMs)), nextCursor } };
  },

  async getApproval({ params, caller }, { store, now }) {
    const approval = await loggedApproval(store, caller.project.projectId, params.approvalId);
    if (approval === null) throw notFound('approval');
    return { status: 200, body: approvalBody(approval, now()) };
  },

  async decideApproval({ params, body, caller, idempotency }, services) {
    const { projectId } = caller.project;
    const approval = await loggedApproval(services.store, projectId, params.approvalId);
    if (approval === null) throw notFound('approval');
    const { approvalId, runId, evaluationId, requestedBy } = approval;
    const { outcome, comment = null } = body;
    if (await isSamePrincipal(services.store, projectId, [requestedBy, caller.id])) {
      const detail = `expected another key than the one that asked (${requestedBy}) to decide; use an approver's key`;
      throw new GovError('FORBIDDEN', detail);
    }
    if (outcome === 'approved') await refuseDenied(services, caller, evaluationId);
    const atMs = services.now();
    const at = formatTimestamp(atMs);
    const decided = { ...approval, decision: { outcome, by: caller.id, comment, atMs } };
    const answer = { status: 200, body: approvalBody(decided, atMs) } as const;
    const recorded = { id: approvalId, runId, evaluationId, outcome, approver: caller.id, at };
    const stored = await appendFor(
      services,
      { caller, scopes: ['approvals:decide'] },
      {
        projectId,
        leaves: [
          draftApproval({ ...recorded, reason: comment }, services.salt),
          approvalDecided(recorded, { nowMs: atMs, salt: services.salt, by: caller }),
        ],
        meter: unmetered,
        effects: [{ kind: 'decideApproval', approvalId, outcome, by: caller.id, comment, atMs }],
        ...idempotencyWrite(idempotency, answer),
      },
    );
    return 'replayed' in stored ? stored : answer;
  },
};

/** CONFLICT where the policies now in force deny the escalated call: an approval does not undo a deny. */
async function refuseDenied(services: Services, { project }: Caller, evaluationId: string): Promise<void> {
  const { projectId } = project;
  const leaf = await services.store.leafOf(projectId, 'gov.evaluation/1', evaluationId);
  const { checkpoint = null, policyIds = null } = leaf === null ? {} : openEvaluation(openLeaf(leaf));
  if (checkpoint === null) {
    throw new GovError('CONFLICT', 'expected the escalated checkpoint, but it was erased; evaluate again');
  }
  const { set } = await services.policySets.current(projectId);
  // `recordEvaluation` recorded it from a checked body
  const asked = set.deciding(checkpoint as unknown as PolicyInput, { ids: policyIds ?? [] });
  const { summary } = await inTurns(asked);
  if (summary.combined !== 'deny') return;
  const decidedBy = summary.decidedBy.slice(0, limits.fieldErrors);
  const detail = `expected no policy that denies it, but ${decidedBy.join(', ')} denies it now; evaluate again`;
  throw new GovError('CONFLICT', detail, { extensions: { decidedBy } });
}

/**
 * The approval, or null where there is none. STORAGE_FAULT where its row contradicts the leaves: who asked,
 * how long it is open, whether and how it was decided. Agents act on it, so an altered row must open nothing.
 * Cost: two leaves, about 50 µs.
 */
async function loggedApproval(
  store: StoreReader,
  projectId: string,
  approvalId: string,
): Promise<StoredApproval | null> {
  // read before the row, so that the row reflects every leaf seen here
  const before = await store.leafOf(projectId, 'gov.approval/1', approvalId);
  const approval = await store.approval(projectId, approvalId);
  if (approval === null) return null;
  const evaluation = await store.leafOf(projectId, 'gov.evaluation/1', approval.evaluationId);
  if (evaluation === null || !isOpenedBy(approval, openEvaluation(openLeaf(evaluation))))
    throw contradiction(`approval ${approvalId}`, evaluation);
  if (approval.decision === null && before === null) return approval;
  const decided = before ?? (await store.leafOf(projectId, 'gov.approval/1', approvalId));
  if (decided === null || !isDecidedBy(approval, openApproval(openLeaf(decided))))
    throw contradiction(`the decision of approval ${approvalId}`, decided);
  return approval;
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

/** The approval at `atMs`. Without a decision in time it has expired. */
function approvalBody(approval: StoredApproval, atMs: number): Approval {
  const { approvalId, evaluationId, runId, reason, requestedBy, requestedMs, expiresMs, decision } = approval;
  return {
    approvalId,
    evaluationId,
    runId,
    reason,
    status: decision?.outcome ?? (atMs < expiresMs ? 'pending' : 'expired'),
    requestedAt: formatTimestamp(requestedMs),
    requestedBy,
    decidedAt: decision === null ? null : formatTimestamp(decision.atMs),
    decidedBy: decision?.by ?? null,
    comment: decision?.comment ?? null,
    expiresAt: formatTimestamp(expiresMs),
  };
}

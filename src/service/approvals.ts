/**
 * Approvals (contract O9): what an escalation waits for. Decided once, by another principal than the one that
 * asked, in one append of leaf `gov.approval/1`, audit event and row; a crash before the store answers leaves all
 * of it or none. Proven by `test/service/approvals.test.ts`.
 */
import type { Approval } from '../contract/approvals.ts';
import { limits } from '../contract/limits.ts';
import { GovError } from '../contract/problems.ts';
import { draftApproval } from '../core/decided/approval.ts';
import { formatTimestamp } from '../core/time.ts';
import type { StoredApproval } from '../store/port.ts';
import { append } from './append.ts';
import { idempotencyWrite, notFound, type Handlers } from './call.ts';
import { byAge, listPage, pageLimit } from './pages.ts';
import { approvalDecided } from './system.ts';

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
    const approval = await store.approval(caller.project.projectId, params.approvalId);
    if (approval === null) throw notFound('approval');
    return { status: 200, body: approvalBody(approval, now()) };
  },

  async decideApproval({ params, body, caller, idempotency }, services) {
    const { projectId } = caller.project;
    const approval = await services.store.approval(projectId, params.approvalId);
    if (approval === null) throw notFound('approval');
    const { approvalId, runId, evaluationId, requestedBy } = approval;
    const { outcome, comment = null } = body;
    if (requestedBy === caller.keyId) {
      const detail = `expected another key than the one that asked (${requestedBy}) to decide; use an approver's key`;
      throw new GovError('FORBIDDEN', detail);
    }
    const atMs = services.now();
    const at = formatTimestamp(atMs);
    const decided = { ...approval, decision: { outcome, by: caller.keyId, comment, atMs } };
    const answer = { status: 200, body: approvalBody(decided, atMs) } as const;
    const recorded = { id: approvalId, runId, evaluationId, outcome, at };
    const stored = await append(services, {
      projectId,
      leaves: [
        draftApproval({ ...recorded, approver: caller.keyId, reason: comment }, services.salt),
        approvalDecided(recorded, { nowMs: atMs, salt: services.salt, by: caller }),
      ],
      meter: { op: 'none', units: 0 },
      effects: [{ kind: 'decideApproval', approvalId, outcome, by: caller.keyId, comment, atMs }],
      ...idempotencyWrite(idempotency, answer),
    });
    return 'replayed' in stored ? stored : answer;
  },
};

/** As it stands at `atMs`: what nobody decided in time has expired. */
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

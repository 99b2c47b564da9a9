/**
 * Approvals of escalated decisions (contract O9). Another principal than the one that asked decides, once.
 * Leaf `gov.approval/1`, audit event and row are one append; a crash before the store answers leaves all of
 * it or none. Proven by `test/service/approvals/handlers.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { draftApproval } from '../../core/decided/approval.ts';
import { openEvaluation } from '../../core/decided/evaluation.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import type { PolicyInput } from '../../core/policies/evaluate/compile.ts';
import { formatTimestamp } from '../../core/time.ts';
import { signedDecision } from './decision.ts';
import { append } from '../writes/append.ts';
import { masking } from '../events/redaction.ts';
import { idempotencyWrite } from '../call/idempotency.ts';
import { notFound } from '../call/answer.ts';
import { expiryTime } from '../call/log-time.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers } from '../port/handler.ts';
import { Contradiction } from '../log/contradiction.ts';
import { byAge, pageLimit, sizedPage } from '../call/pages.ts';
import { namesOf, type NameOf } from '../approvers/names.ts';
import { isSamePrincipal } from '../call/principals.ts';
import type { Services } from '../port/services.ts';
import { inTurns } from '../call/time-slice.ts';
import { approvalDecided } from '../writes/system.ts';
import { approvalBody, shownBody } from './view.ts';
import { loggedApproval, type LoggedApproval } from './logged.ts';

export const approvals: Pick<Handlers, 'listApprovals' | 'getApproval' | 'awaitApproval' | 'decideApproval'> =
  {
    async listApprovals({ query, caller }, services) {
      const { projectId } = caller.project;
      const { status, runId, cursor } = query;
      const filters = {
        ...(status === undefined ? {} : { status }),
        ...(runId === undefined ? {} : { runId }),
      };
      const atMs = await expiryTime(services, projectId);
      const mask = masking(caller, services);
      const altered: string[] = [];
      const { items, nextCursor } = await sizedPage(services, {
        scope: { list: 'approvals', projectId, filters },
        cursor,
        limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
        read: (page: Parameters<typeof services.store.approvals>[2]) =>
          services.store.approvals(projectId, { ...filters, atMs }, page),
        position: ({ requestedMs, approvalId }) => byAge(requestedMs, approvalId),
        item: async ({ approvalId }) => {
          const approval = await unlessAltered(
            services,
            loggedApproval(services.store, caller.project, approvalId),
          );
          if (approval !== null) {
            const nameOf = await names(services, caller, approval);
            return { item: shownBody(approval, { atMs, mask, nameOf }), bytes: approval.bytes };
          }
          altered.push(approvalId);
          return { item: null, bytes: 0 };
        },
      });
      const data = items.filter((item) => item !== null);
      return { status: 200, body: { data, nextCursor, ...(altered.length === 0 ? {} : { altered }) } };
    },

    async getApproval({ params, caller }, services) {
      const approval = await loggedApproval(services.store, caller.project, params.approvalId);
      if (approval === null) throw notFound('approval');
      const mask = masking(caller, services);
      const atMs = await expiryTime(services, caller.project.projectId);
      const nameOf = await names(services, caller, approval);
      return { status: 200, body: shownBody(approval, { atMs, mask, nameOf }) };
    },

    async awaitApproval({ params: { approvalId }, query: { waitSeconds = 0 }, caller }, services) {
      const { store, holds } = services;
      const { projectId } = caller.project;
      const own = await loggedApproval(store, caller.project, approvalId);
      if (own === null || own.requestedBy !== caller.id || isOfOtherRun(caller, own.runId))
        throw notFound('approval');
      const isOver = async () => (await store.approval(projectId, approvalId))?.decision !== null;
      await holds.until({ projectId, waitMs: waitSeconds * 1000, isOver });
      const approval = await loggedApproval(store, caller.project, approvalId);
      if (approval === null) throw notFound('approval');
      const atMs = await expiryTime(services, projectId);
      const { status, expiresAt } = approvalBody(approval, { atMs, nameOf: () => null });
      return { status: 200, body: { approvalId, status, expiresAt } };
    },

    async decideApproval(call, services) {
      for (;;) {
        try {
          return await decide(call, services);
        } catch (error) {
          // the approver signed another decision meanwhile, or was revoked: look again
          if (!(error instanceof GovError) || error.code !== 'PRECONDITION_FAILED') throw error;
        }
      }
    },
  };

const decide: Handlers['decideApproval'] = async ({ params, body, caller, idempotency }, services) => {
  const { projectId } = caller.project;
  const approval = await loggedApproval(services.store, caller.project, params.approvalId);
  if (approval === null) throw notFound('approval');
  const { approvalId, runId, evaluationId, requestedBy } = approval;
  const { outcome, comment = null, signature } = body;
  if (await isSamePrincipal(services.store, projectId, [requestedBy, caller.id])) {
    const detail = `expected another key than the one that asked (${requestedBy}) to decide; use an approver's key`;
    throw new GovError('FORBIDDEN', detail);
  }
  if (outcome === 'approved') await refuseDenied(services, caller, evaluationId);
  const signed = await signedDecision(services, caller, { approval, outcome, comment, signature });
  const atMs = services.now();
  const at = formatTimestamp(atMs);
  const decision = { outcome, by: caller.id, comment, atMs };
  const decided = { ...approval, decision, signed };
  const nameOf = await names(services, caller, decided);
  const answer = { status: 200, body: approvalBody(decided, { atMs, nameOf }) } as const;
  const recorded = { id: approvalId, runId, evaluationId, outcome, approver: caller.id, at };
  const leaf = {
    ...recorded,
    reason: comment,
    ...(signed === null ? {} : { signed: signed.signed, signature: signed.signature }),
  };
  const stored = await append(
    services,
    {
      projectId,
      leaves: [
        draftApproval(leaf, services.salt),
        approvalDecided(recorded, { nowMs: atMs, salt: services.salt, by: caller }),
      ],
      effects: [
        { kind: 'decideApproval', approvalId, outcome, by: caller.id, comment, atMs },
        ...(signed === null ? [] : [{ kind: 'saveDocuments', changes: [signed.change] } as const]),
      ],
      ...idempotencyWrite(idempotency, answer),
    },
    { by: { caller, scopes: ['approvals:decide'] } },
  );
  return 'replayed' in stored ? stored : answer;
};

const isOfOtherRun = ({ run }: Caller, runId: string): boolean => run !== undefined && run !== runId;

const names = (
  { store }: Services,
  { project }: Caller,
  { requestedBy, decision }: LoggedApproval,
): Promise<NameOf> => namesOf(store, project, [requestedBy, decision?.by ?? null]);

/** Null for a row that contradicts the log: a list goes on with the others. The operator's log names it. */
async function unlessAltered(
  { log }: Services,
  reading: Promise<LoggedApproval | null>,
): Promise<LoggedApproval | null> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof Contradiction)) throw error;
    log.error({ err: error }, 'expected approvals as they were logged, got an altered one');
    return null;
  }
}

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

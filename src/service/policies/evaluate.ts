/**
 * Policy evaluation (contract G6, O5): evaluates a checkpoint with the policies in force and records leaf
 * `gov.evaluation/1`. The recorded decision uses the set in force at its place in the log: where a policy
 * changed in the meantime, the store refuses, and the evaluation runs again. Proven by
 * `test/service/policies/evaluate.engines.test.ts`.
 */
import { refuseSystemRun } from '../writes/system-run.ts';
import type { PolicyEvaluation } from '../../contract/governance.ts';
import type { CallSource } from '../../contract/tools.ts';
import { limits } from '../../contract/limits.ts';
import {
  draftEvaluation,
  type Evaluation,
  type OpenedApproval,
  type PolicySource,
} from '../../core/decided/evaluation.ts';
import { recordedDecision } from '../../core/decided/outcome-cache.ts';
import { typeId } from '../../core/id.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import type { PolicyInput } from '../../core/policies/evaluate/compile.ts';
import type { PolicyDecision, PolicySet, SetSummary } from '../../core/policies/set/in-force.ts';
import type { LeafDraft, OtherDraft } from '../../core/events/record.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { StoredApproval } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import { idempotencyWrite, type Idempotency } from '../call/idempotency.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers } from '../port/handler.ts';
import type { PlainAnswer, ReplayedResponse } from '../call/answer.ts';
import { refuseLarge } from './input.ts';
import { presenceOf } from '../approvers/presence.ts';
import { reasonMasks } from '../events/redaction.ts';
import { approvalWrites, callApproval, type CallApproval } from '../approvals/call.ts';
import { idlePolicies, reasonsOf, summaryBody } from './decisions.ts';
import type { PoliciesInForce } from '../in-force/policies.ts';
import { fieldError } from '../call/schema.ts';
import { requiresSignature } from '../../core/replay/again.ts';
import type { Services } from '../port/services.ts';
import { subjectsOf, type SubjectResult } from '../call/subjects.ts';
import { unlessOvertaken } from '../call/overtaken.ts';
import { inTurns } from '../call/time-slice.ts';

export const evaluations: Pick<Handlers, 'evaluatePolicy'> = {
  async evaluatePolicy({ body, caller, idempotency }, services) {
    const { runId, policies = [], checkpoint } = body;
    refuseSystemRun(runId, 'body');
    const asked: EvaluationRequest = {
      caller,
      runId,
      // a parsed body is JSON
      checkpoint: checkpoint as PolicyInput,
      policyIds: policies,
      pointer: '/policies',
      contextPointer: (below) => `/checkpoint/context${below}`,
      source: policies.length === 0 ? 'active' : 'requested',
    };
    return recordEvaluation(services, asked, (decided) => ({
      answer: { status: 200, body: evaluationBody(decided) },
      idempotency,
    }));
  },
};

/** The checkpoint and policies to evaluate, and the caller. */
export interface EvaluationRequest {
  readonly caller: Caller;
  readonly runId: string;
  readonly checkpoint: PolicyInput;
  /** Empty for all active policies. */
  readonly policyIds: readonly string[];
  /** The place of the policy ids in the body. */
  readonly pointer: string;
  /** The place in the body of a place in the context. */
  readonly contextPointer: (below: string) => string;
  readonly source: PolicySource;
  /** Of a tool call: the one approval that may let it run. Default: any approval of this call. */
  readonly approvalId?: string;
  /** Of a tool call: the gate that asks, and the client's id of the call. */
  readonly gate?: CallSource;
  readonly toolCallId?: string;
}

/** The decision. The append records it with its approval. */
export interface PolicyOutcome {
  readonly evaluation: Evaluation;
  readonly summary: SetSummary;
  /** The approval of an escalation; null without one. */
  readonly approval: CallApproval | null;
  readonly evaluatedMs: number;
}

/** Further parts of the append that records the evaluation. */
interface AppendParts<Answer extends PlainAnswer> {
  readonly answer: Answer;
  readonly idempotency: Idempotency | null;
  readonly leaves?: readonly LeafDraft[];
}

/**
 * Evaluates and records in one append. `compose` returns the answer and further leaves, and runs again where
 * a policy or the approval of the call changed in the meantime. VALIDATION_ERROR for unknown policies, a
 * checkpoint over its limit, unusable subjects and an unusable approval; OVERLOADED where they keep changing.
 */
export async function recordEvaluation<const Answer extends PlainAnswer>(
  services: Services,
  asked: EvaluationRequest,
  compose: (decided: PolicyOutcome) => AppendParts<Answer>,
): Promise<Answer | ReplayedResponse> {
  const { projectId } = asked.caller.project;
  const about = aboutOf(asked, services);
  let inForce = await services.policySets.current(projectId);
  return services.runs.untilJudged(projectId, 'the policies or the approval', async () => {
    const decided = await withApproval(await decideIn(inForce, asked, services), {
      asked,
      inForce,
      services,
    });
    const leaf = { ...draftDecided(decided, asked, services), ...about };
    const { answer, idempotency, leaves = [] } = compose(decided);
    const writes = approvalWrites(decided.approval, decided);
    const appending = append(
      services,
      {
        projectId,
        leaves: [leaf, ...writes.leaves, ...leaves],
        effects: writes.effects,
        ...idempotencyWrite(idempotency, answer),
      },
      { expect: { policyIndex: inForce.policyIndex } },
    );
    // another evaluation of the same call may open or use its approval first
    const stored = await unlessOvertaken(appending, 'CONFLICT');
    if (stored === null || 'replayed' in stored) return stored;
    if (stored.outcome === 'stored') return answer;
    inForce = await services.policySets.newer(projectId, inForce);
    return null;
  });
}

/** The decision with the approval of its escalation. */
async function withApproval(
  decided: PolicyOutcome,
  { asked, inForce, services }: { asked: EvaluationRequest; inForce: PoliciesInForce; services: Services },
): Promise<PolicyOutcome> {
  if (decided.evaluation.combined !== 'escalate') return decided;
  const approval = await callApproval(services, asked, { ...decided, set: inForce.set });
  if (approval.does !== 'opens') return { ...decided, approval };
  const { evaluation } = decided;
  const presence = await presenceOf(services, asked.caller);
  const isSigned = presence === 'signed' || requiresSignature(evaluation.decisions, inForce.set);
  const signed = {
    ...(isSigned ? { signatureRequired: true as const } : {}),
    ...(presence === null ? {} : { presence }),
  };
  return {
    ...decided,
    approval,
    evaluation: { ...evaluation, approval: { ...opened(approval.stored), ...signed } },
  };
}

/** Evaluates and records nothing. An approval is neither opened nor used. */
export async function decideOnly(services: Services, asked: EvaluationRequest): Promise<PolicyOutcome> {
  return decideIn(await services.policySets.current(asked.caller.project.projectId), asked, services);
}

async function decideIn(
  inForce: PoliciesInForce,
  asked: EvaluationRequest,
  services: Services,
): Promise<PolicyOutcome> {
  services.planeConfig?.refuseExpired();
  const { runId, checkpoint, policyIds, source } = asked;
  const idle = await idlePolicies(services.store, inForce, asked);
  const { set, review } = inForce;
  const masked = reasonMasks(asked.caller, checkpoint);
  const recorded = async (by: PolicySet, said: readonly PolicyDecision[]) => {
    const reasons = await inTurns(reasonsOf({ decisions: said, set: by, checkpoint, idle, masked }));
    return said.map((decision, at) =>
      recordedDecision(by.get(decision.policyId), decision, reasons[at] as string),
    );
  };
  const { decisions: said, summary } = await inTurns(set.deciding(checkpoint, { ids: policyIds }));
  const decisions = await recorded(set, said);
  const { decisions: shadowed } = await inTurns(review.deciding(checkpoint));
  const evaluatedMs = services.now();
  const id = typeId('pev', evaluatedMs, services.randomBytes(10));
  const evaluation: Evaluation = {
    id,
    runId,
    policySource: source,
    policyCount: summary.total,
    policyIds: policyIds.length === 0 ? null : [...new Set(policyIds)],
    policySetHash: summary.policySetHash,
    policyIndex: inForce.policyIndex,
    combined: summary.combined,
    approval: null,
    evaluatedAt: formatTimestamp(evaluatedMs),
    decisions,
    shadow: await recorded(review, shadowed),
    checkpoint: checkpoint as unknown as JsonObject,
    readSet:
      inForce.reads.paths.length === 0 ? null : (inForce.reads.retain(checkpoint) as unknown as JsonObject),
  };
  return { evaluation, summary, approval: null, evaluatedMs };
}

const opened = ({ approvalId, requestedBy, expiresMs, callKey }: StoredApproval): OpenedApproval => ({
  id: approvalId,
  ...(callKey === null ? {} : { binding: 'gov.subject/1' }),
  requestedBy,
  expiresAt: formatTimestamp(expiresMs),
});

/**
 * The leaf of the evaluation. Serializes it once, and counts the checkpoint's bytes only where the leaf is
 * long.
 */
function draftDecided(
  { evaluation }: PolicyOutcome,
  { checkpoint }: EvaluationRequest,
  services: Services,
): OtherDraft {
  const leaf = draftEvaluation(evaluation, services.salt);
  if ((leaf.disclosures?.length ?? 0) * 3 > limits.checkpointBytes) refuseLarge(checkpoint, '/checkpoint');
  return leaf;
}

/** The subjects of the context. VALIDATION_ERROR for a subject that an erasure could not find. */
function aboutOf(
  { caller, checkpoint, contextPointer }: EvaluationRequest,
  services: Services,
): { subjects?: readonly string[] } {
  const found: SubjectResult = subjectsOf(caller, services)?.(checkpoint.context as JsonObject) ?? {};
  if (!('fault' in found)) return found;
  throw fieldError({ ...found.fault, pointer: contextPointer(found.fault.pointer) });
}

function evaluationBody({ evaluation, summary, approval }: PolicyOutcome): PolicyEvaluation {
  const { runId, id, combined, decisions, evaluatedAt } = evaluation;
  return {
    runId,
    evaluationId: id,
    decisions: decisions.map(({ policyHash: _hash, ...decision }) => decision),
    combined,
    summary: summaryBody(summary),
    approvalId: approval?.stored.approvalId ?? null,
    evaluatedAt,
  };
}

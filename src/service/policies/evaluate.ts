/**
 * Policy evaluation (interface §2.6, §4.6; contract G6, O5): what the policies in force say about a checkpoint,
 * recorded as leaf `gov.evaluation/1`. What is recorded was decided with the set in force at its place in the
 * log: where a policy changed meanwhile, the store refuses, and it is decided again.
 * Proven by `test/service/policies/evaluate.engines.test.ts`.
 */
import { isSystemRun, systemRunRefusal } from '../../contract/system-runs.ts';
import type { PolicyEvaluation } from '../../contract/governance.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import {
  draftEvaluation,
  escalationReason,
  evaluationRecordBody,
  openEvaluation,
  type Evaluation,
  type OpenedApproval,
  type PolicySource,
} from '../../core/decided/evaluation.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { recordedDecision } from '../../core/decided/outcome-cache.ts';
import { typeId } from '../../core/id.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import type { PolicyInput } from '../../core/policy/evaluate/compile.ts';
import type { SetSummary } from '../../core/policy/set/in-force.ts';
import type { LeafDraft, OtherDraft } from '../../core/event/record.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { StoredApproval } from '../../store/port/store.ts';
import { appendOrStale, unmetered, type PlainEffect } from '../events/append.ts';
import {
  idempotencyWrite,
  type Caller,
  type Handlers,
  type Idempotency,
  type PlainAnswer,
  type Replayed,
} from '../call/handler.ts';
import { refuseLarge } from './input.ts';
import { pageLimit, sizedPage } from '../call/pages.ts';
import { idlePolicies, reasonsOf, summaryBody } from './decisions.ts';
import type { InForce } from './in-force.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../dependencies.ts';
import { subjectsOf, type SubjectsFound } from '../erasure/subjects.ts';
import { inTurns } from '../call/time-slice.ts';

export const evaluations: Pick<Handlers, 'evaluatePolicy' | 'listPolicyEvaluations'> = {
  async evaluatePolicy({ body, caller, idempotency }, services) {
    const { runId, policies = [], checkpoint } = body;
    if (isSystemRun(runId)) {
      throw fieldError({ pointer: '/runId', in: 'body', code: 'NOT_ALLOWED', detail: systemRunRefusal });
    }
    const asked: Asked = {
      caller,
      runId,
      // it came out of a body
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

  async listPolicyEvaluations({ query, caller }, services) {
    const { projectId } = caller.project;
    const filter = query.runId === undefined ? {} : { runId: query.runId };
    const { items, nextCursor } = await sizedPage(services, {
      scope: { list: 'policyEvaluations', projectId, filters: filter },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: { after?: number; limit: number }) =>
        services.store.leavesOf(
          projectId,
          { type: 'gov.evaluation/1', ...filter },
          { ...page, order: 'desc' },
        ),
      position: ({ index }) => index,
      item: (leaf) => ({
        item: evaluationRecordBody(leaf.index, openEvaluation(openLeaf(leaf))),
        bytes: leaf.record.length + (leaf.disclosures?.length ?? 0),
      }),
    });
    return { status: 200, body: { data: items, nextCursor } };
  },
};

/** What is asked of the policies, and by whom. */
export interface Asked {
  readonly caller: Caller;
  readonly runId: string;
  readonly checkpoint: PolicyInput;
  /** None for all that are active. */
  readonly policyIds: readonly string[];
  /** Of the policy ids in the body. */
  readonly pointer: string;
  /** Where in the body a place of the context stands. */
  readonly contextPointer: (below: string) => string;
  readonly source: PolicySource;
}

/** What came out. Its leaf, and the approval that an escalation opens, are for the caller to append. */
export interface Decided {
  readonly evaluation: Evaluation;
  readonly summary: SetSummary;
  readonly approval: StoredApproval | null;
  readonly evaluatedMs: number;
}

/** What is appended with the leaf of an evaluation. */
interface Composed<Answer extends PlainAnswer> {
  readonly answer: Answer;
  readonly idempotency: Idempotency | null;
  readonly leaves?: readonly LeafDraft[];
}

const attempts = 5;

/**
 * Decides and records in one append; `compose` gives the answer and further leaves of the same request, and is
 * asked again where a policy changed meanwhile. VALIDATION_ERROR for unknown policies, a checkpoint that is too large
 * and subjects that could not be found again, OVERLOADED where the policies never rest.
 */
export async function recordEvaluation<const Answer extends PlainAnswer>(
  services: Services,
  asked: Asked,
  compose: (decided: Decided) => Composed<Answer>,
): Promise<Answer | Replayed> {
  const { projectId } = asked.caller.project;
  const about = aboutOf(asked, services);
  let inForce = await services.policySets.current(projectId);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const decided = await decideIn(inForce, asked, services);
    const leaf = { ...draftDecided(decided, asked, services), ...about };
    const { answer, idempotency, leaves = [] } = compose(decided);
    const effects: PlainEffect[] =
      decided.approval === null ? [] : [{ kind: 'openApproval', approval: decided.approval }];
    const stored = await appendOrStale(services, {
      projectId,
      leaves: [leaf, ...leaves],
      meter: unmetered,
      inForce: { policyIndex: inForce.policyIndex },
      effects,
      ...idempotencyWrite(idempotency, answer),
    });
    if ('replayed' in stored) return stored;
    if (stored.outcome === 'stored') return answer;
    inForce = await services.policySets.newer(projectId, inForce);
  }
  throw new GovError('OVERLOADED', 'the policies kept changing while they were evaluated; repeat later', {
    retryAfterSeconds: limits.overloadRetrySeconds,
  });
}

/** Decides and records nothing. */
export async function decideOnly(services: Services, asked: Asked): Promise<Decided> {
  return decideIn(await services.policySets.current(asked.caller.project.projectId), asked, services);
}

async function decideIn(inForce: InForce, asked: Asked, services: Services): Promise<Decided> {
  const { runId, checkpoint, policyIds, source } = asked;
  const idle = await idlePolicies(services.store, inForce, asked);
  const { set, review } = inForce;
  const { decisions: said, summary } = await inTurns(set.deciding(checkpoint, { ids: policyIds }));
  const reasons = await inTurns(reasonsOf({ decisions: said, set, checkpoint, idle }));
  const decisions = said.map((decision, at) =>
    recordedDecision(set.get(decision.policyId), decision, reasons[at] ?? ''),
  );
  const { decisions: shadowed } = await inTurns(review.deciding(checkpoint));
  const evaluatedMs = services.now();
  const id = typeId('pev', evaluatedMs, services.randomBytes(10));
  const approval =
    summary.combined === 'escalate'
      ? openApproval({ id, runId, decisions }, asked.caller, { evaluatedMs, services })
      : null;
  const evaluation: Evaluation = {
    id,
    runId,
    policySource: source,
    policyCount: summary.total,
    policyIds: policyIds.length === 0 ? null : [...new Set(policyIds)],
    policySetHash: summary.policySetHash,
    policyIndex: inForce.policyIndex,
    combined: summary.combined,
    approval: approval === null ? null : opened(approval),
    evaluatedAt: formatTimestamp(evaluatedMs),
    decisions,
    shadow: shadowed.map((each) => recordedDecision(review.get(each.policyId), each, '')),
    checkpoint: checkpoint as unknown as JsonObject,
    readSet:
      inForce.reads.paths.length === 0 ? null : (inForce.reads.retain(checkpoint) as unknown as JsonObject),
  };
  return { evaluation, summary, approval, evaluatedMs };
}

/** The approval that an escalation opens. */
function openApproval(
  { id, runId, decisions }: Pick<Evaluation, 'id' | 'runId' | 'decisions'>,
  { id: callerId }: Caller,
  { evaluatedMs, services }: { evaluatedMs: number; services: Services },
): StoredApproval {
  return {
    approvalId: typeId('apr', evaluatedMs, services.randomBytes(10)),
    evaluationId: id,
    runId,
    reason: escalationReason(decisions),
    requestedMs: evaluatedMs,
    requestedBy: callerId,
    expiresMs: evaluatedMs + limits.approvalHours * 3_600_000,
    decision: null,
  };
}

const opened = ({ approvalId, requestedBy, expiresMs }: StoredApproval): OpenedApproval => ({
  id: approvalId,
  requestedBy,
  expiresAt: formatTimestamp(expiresMs),
});

/** The leaf. Its canonical form is made once: only where that is long are the checkpoint's bytes counted. */
function draftDecided({ evaluation }: Decided, { checkpoint }: Asked, services: Services): OtherDraft {
  const leaf = draftEvaluation(evaluation, services.salt);
  if ((leaf.disclosures?.length ?? 0) * 3 > limits.checkpointBytes) refuseLarge(checkpoint, '/checkpoint');
  return leaf;
}

/** VALIDATION_ERROR where somebody the context is about could not be found by it. */
function aboutOf(
  { caller, checkpoint, contextPointer }: Asked,
  services: Services,
): { subjects?: readonly string[] } {
  const found: SubjectsFound = subjectsOf(caller, services)?.(checkpoint.context as JsonObject) ?? {};
  if (!('fault' in found)) return found;
  throw fieldError({ ...found.fault, pointer: contextPointer(found.fault.pointer) });
}

function evaluationBody({ evaluation, summary, approval }: Decided): PolicyEvaluation {
  const { runId, id, combined, decisions, evaluatedAt } = evaluation;
  return {
    runId,
    evaluationId: id,
    decisions: decisions.map(({ policyHash: _hash, ...decision }) => decision),
    combined,
    summary: summaryBody(summary),
    approvalId: approval?.approvalId ?? null,
    evaluatedAt,
  };
}

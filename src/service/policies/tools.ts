/**
 * Tool governance (contract M9-M12): evaluates a tool call with the policies in force. One append records the
 * evaluation and an audit event of the run. Proven by `test/service/policies/tools.engines.test.ts`.
 */
import { refuseSystemRun } from '../writes/system-run.ts';
import { limits } from '../../contract/limits.ts';
import { toolContextMembers, type ToolCall, type ToolDecision } from '../../contract/tools.ts';
import { GovError } from '../../contract/problems.ts';
import { mapPolicyId, mapsIn } from '../../core/action/money.ts';
import { callHash } from '../../core/coverage/call-hash.ts';
import { withAction } from '../../core/action/recorded.ts';
import type { MoneyMap } from '../../core/action/shape.ts';
import { argumentsHash } from '../../core/decided/evaluation.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import { cut } from '../../core/replay/fields.ts';
import { counts } from '../../core/policies/evaluate/decision.ts';
import { draftEvent, type EventDraft } from '../../core/events/record.ts';
import { evaluateRisk } from '../../core/risk/router.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers } from '../port/handler.ts';
import { decideOnly, recordEvaluation, type EvaluationRequest, type PolicyOutcome } from './evaluate.ts';
import { routerOf } from './risk-router.ts';
import { fieldError } from '../call/schema.ts';
import { toolRun } from '../events/judge.ts';
import type { Services } from '../port/services.ts';
import { subjectsOf, type SubjectResult } from '../call/subjects.ts';

export const tools: Pick<Handlers, 'evaluateTool'> = {
  async evaluateTool({ body, caller, idempotency }, services) {
    const { runId = caller.run } = body;
    if (runId !== undefined) refuseSystemRun(runId, 'body');
    requireOwnRun(caller, runId);
    const moneyMap = await moneyMapOf(body, caller, services);
    const { context, actionHash } = withAction(contextOf(body, { runId, moneyMap }));
    const asked: EvaluationRequest = {
      caller,
      runId: runId ?? toolRun,
      checkpoint: { context },
      policyIds: body.policyIds ?? [],
      pointer: '/policyIds',
      contextPointer: (below) => (isOurs(below) ? below : `/context${below}`),
      source: 'tool',
      ...(body.approvalId === undefined ? {} : { approvalId: body.approvalId }),
      ...(body.source === undefined ? {} : { gate: body.source }),
      ...(body.toolCallId === undefined ? {} : { toolCallId: body.toolCallId }),
    };
    const { holdSeconds } = services;
    const hashes = { argumentsHash: hashOf(body), actionHash };
    const router = await routerOf(services.store, caller.project.projectId);
    const answerOf = (decided: PolicyOutcome) => {
      const policyDecisions = matching(decided).map(({ policyId, decision }) => ({
        policyId,
        decision,
        score: 0,
      }));
      const riskScore = evaluateRisk({ policyDecisions }, router).score;
      return { status: 200, body: decisionBody(decided, { ...hashes, riskScore, holdSeconds }) } as const;
    };
    if (body.dryRun === true) return answerOf(await decideOnly(services, asked));
    return recordEvaluation(services, asked, (decided) => {
      const answer = answerOf(decided);
      const actor = body.actor ?? { id: caller.id, type: caller.type };
      const context = { runId: asked.runId, actor, nowMs: decided.evaluatedMs, caller };
      return {
        answer,
        idempotency,
        leaves: [
          toolEvaluated(
            body,
            { ...answer.body, evaluationId: decided.evaluation.id },
            { ...context, services },
          ),
        ],
      };
    });
  },
};

/** FORBIDDEN where the token of another run asks. */
function requireOwnRun({ run }: Caller, runId: string | undefined): void {
  if (run === undefined || run === runId) return;
  throw new GovError('FORBIDDEN', `expected run ${run}, the only one of this token, got ${runId}`);
}

/**
 * The context that policies see of a call, but for its action. VALIDATION_ERROR where the caller's own context has a member
 * that the service sets.
 */
function contextOf(
  { tool, arguments: given, actor, client, facts, context = {} }: ToolCall,
  { runId, moneyMap }: { readonly runId: string | undefined; readonly moneyMap: MoneyMap | null },
): JsonObject {
  for (const name of toolContextMembers) {
    if (!Object.hasOwn(context, name)) continue;
    const detail = `expected no member ${name} in context: the service sets it from the call`;
    throw fieldError({ pointer: `/context/${name}`, in: 'body', code: 'NOT_ALLOWED', detail });
  }
  // all of it is from a parsed body
  return {
    ...(context as JsonObject),
    tool: tool as JsonObject,
    arguments: given as JsonObject,
    ...(actor === undefined ? {} : { actor: actor as JsonObject }),
    ...(runId === undefined ? {} : { runId }),
    ...(client === undefined && facts === undefined && moneyMap === null
      ? {}
      : {
          facts: {
            ...(facts as JsonObject),
            ...(client === undefined ? {} : { client: { ...client } }),
            ...(moneyMap === null ? {} : { moneyMap: { ...moneyMap } }),
          },
        }),
  };
}

/** A map that nobody can read: amounts that nobody knows. */
const unreadableMap: MoneyMap = { amount: '/' };

/** Where the policy in force `mcp-map.SERVER` says that the tool has money; null without one for the tool. */
async function moneyMapOf(
  { tool }: ToolCall,
  { project }: Caller,
  services: Services,
): Promise<MoneyMap | null> {
  if (tool.server === undefined) return null;
  const { set } = await services.policySets.current(project.projectId);
  const policy = set.get(mapPolicyId(tool.server))?.policy;
  if (policy === undefined) return null;
  const maps = mapsIn(policy.condition);
  return maps === null ? unreadableMap : (maps.get(tool.name) ?? null);
}

interface CallHashes {
  readonly argumentsHash: string;
  readonly actionHash: string;
}

interface DecisionFacts extends CallHashes {
  readonly riskScore: number;
  readonly holdSeconds: number | undefined;
}

/** Whether a place in the context is in a member that the service sets from the call. */
const isOurs = (pointer: string): boolean =>
  toolContextMembers.some((name) => `${pointer}/`.startsWith(`/${name}/`));

/** VALIDATION_ERROR where the arguments exceed `limits.toolArgumentsBytes`. */
function hashOf({ arguments: given }: ToolCall): string {
  // a parsed body is JSON
  const { bytes, hash } = argumentsHash(given as JsonObject);
  const limit = limits.toolArgumentsBytes;
  if (bytes <= limit) return hash;
  const detail = `expected at most ${limit} canonical bytes, got ${bytes}; pass large values by their hash`;
  throw fieldError({ pointer: '/arguments', in: 'body', code: 'TOO_LARGE', detail, limit });
}

const matching = ({ evaluation }: PolicyOutcome) =>
  evaluation.decisions.filter(({ outcome }) => counts(outcome));

function decisionBody(
  decided: PolicyOutcome,
  { argumentsHash, actionHash, riskScore, holdSeconds }: DecisionFacts,
): ToolDecision {
  const { evaluation, approval, evaluatedMs } = decided;
  const { id, evaluatedAt } = evaluation;
  const matched = matching(decided);
  const { decision, reason } = outcomeOf(decided);
  return {
    evaluationId: approval?.does === 'joins' ? approval.join.first : id,
    decision,
    allowed: decision === 'allow' || decision === 'warn',
    reason,
    matchedPolicies: matched.flatMap(({ policyId, version, decision }) =>
      version === null ? [] : [{ policyId, version, decision }],
    ),
    obligations: obligationsOf(decided, holdSeconds),
    riskScore,
    argumentsHash,
    actionHash,
    approvalId: approval?.stored.approvalId ?? null,
    ...(approval?.does === 'joins' ? { joined: true } : {}),
    evaluatedAt,
    expiresAt: formatTimestamp(evaluatedMs + limits.toolDecisionSeconds * 1000),
  };
}

/** What the policies decide, or, after they escalated, what a person decided about this call. */
function outcomeOf(decided: PolicyOutcome): Pick<ToolDecision, 'decision' | 'reason'> {
  const { combined } = decided.evaluation;
  const { does, stored } = decided.approval ?? {};
  if ((does === 'uses' || does === 'joins' || does === 'is denied') && stored?.decision) {
    const { outcome, by, atMs, comment } = stored.decision;
    const said = `${outcome} by ${by} at ${formatTimestamp(atMs)}${comment === null ? '' : `: ${comment}`}`;
    return { decision: does === 'is denied' ? 'deny' : 'allow', reason: cut(said, limits.reasoningChars) };
  }
  const first = matching(decided).find(({ decision }) => decision === combined);
  if (first === undefined) return { decision: combined, reason: 'no active policy objects to the call' };
  const reason = cut(`policy ${first.policyId}: ${first.reasoning}`, limits.reasoningChars);
  return { decision: combined, reason };
}

/** What the caller must do in addition to obeying the decision. */
function obligationsOf(decided: PolicyOutcome, holdSeconds?: number): ToolDecision['obligations'] {
  const { evaluation, approval } = decided;
  if (approval?.does === 'opens' || approval?.does === 'waits') {
    const { approvalId, expiresMs } = approval.stored;
    const params = {
      approvalId,
      expiresAt: formatTimestamp(expiresMs),
      ...(holdSeconds === undefined ? {} : { holdSeconds }),
    };
    return [{ type: 'wait_for_approval', params }];
  }
  if (evaluation.combined !== 'warn') return [];
  const policyIds = matching(decided).map(({ policyId }) => policyId);
  return [{ type: 'show_warning', params: { policyIds } }];
}

/**
 * The audit event of an evaluated call. VALIDATION_ERROR for a subject that an erasure could not find. Its
 * members are valid, so any other refusal is a bug.
 */
function toolEvaluated(
  { tool, toolCallId, client, arguments: given }: ToolCall,
  { evaluationId, decision, argumentsHash, actionHash, approvalId, joined }: ToolDecision,
  context: {
    runId: string;
    actor: NonNullable<ToolCall['actor']>;
    nowMs: number;
    caller: Caller;
    services: Services;
  },
): EventDraft {
  const { runId, actor, nowMs, caller, services } = context;
  const use = { tool: tool.name, server: tool.server ?? null, client: client?.name ?? null };
  // a parsed body is JSON
  const hash = callHash({ ...use, arguments: given as JsonObject });
  const input = {
    runId,
    eventType: 'tool.evaluated',
    actor,
    resource: { name: tool.name, type: 'tool' },
    action: 'evaluate',
    timestamp: formatTimestamp(nowMs),
    metadata: {
      evaluationId,
      decision,
      argumentsHash,
      actionHash,
      ...(hash === null ? {} : { callHash: hash }),
      ...(approvalId === null ? {} : { approvalId }),
      ...(toolCallId === undefined ? {} : { toolCallId }),
      ...(joined === undefined ? {} : { joined }),
    },
  };
  const draft = draftEvent(input, nowMs, services.salt);
  if ('code' in draft) {
    throw fieldError({ pointer: '/actor', in: 'body', code: 'TOO_LARGE', detail: draft.detail });
  }
  // the actor is from a parsed body
  const about: SubjectResult = subjectsOf(caller, services)?.(input as JsonObject) ?? {};
  if (!('fault' in about)) return { ...draft, ...about };
  throw fieldError({ ...about.fault, detail: `of its event tool.evaluated: ${about.fault.detail}` });
}

/**
 * Steps that evaluation and simulation share: the requested policies, the reasons of each decision, the
 * summary. Proven by `test/service/policies/evaluate.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { PolicySummary } from '../../contract/governance.ts';
import type { FieldError } from '../../contract/problems.ts';
import type { PolicyInput } from '../../core/policies/evaluate/compile.ts';
import { gravestDecisions } from '../../core/policies/evaluate/decision.ts';
import { reasoning, unexplained, type ReasoningInput } from '../../core/policies/explain/reasoning.ts';
import type { Member, PolicyDecision, PolicySet, SetSummary } from '../../core/policies/set/in-force.ts';
import { TimeSlice, type TimeSlicedWork } from '../../core/policies/evaluate/time-slice.ts';
import type { StoreReader } from '../../store/port/store.ts';
import type { Caller } from '../call/caller.ts';
import type { IdlePolicy, PoliciesInForce } from '../in-force/policies.ts';
import { refusal } from '../call/schema.ts';

/**
 * The requested policies that are not in force, by id. VALIDATION_ERROR lists unknown ones. Cost: one read
 * for each, the first time after a change.
 */
export async function idlePolicies(
  store: StoreReader,
  { set, idle }: PoliciesInForce,
  asked: { readonly caller: Caller; readonly policyIds: readonly string[]; readonly pointer: string },
): Promise<ReadonlyMap<string, IdlePolicy>> {
  const { caller, policyIds, pointer } = asked;
  const unknown: FieldError[] = [];
  for (const [at, policyId] of policyIds.entries()) {
    if (set.get(policyId) !== undefined || idle.has(policyId)) continue;
    const policy = await store.policy(caller.project.projectId, policyId);
    if (policy !== null) idle.set(policyId, { name: policy.name, status: policy.status });
    else {
      const detail = `expected a policy of this project, got ${policyId}`;
      unknown.push({ pointer: `${pointer}/${at}`, in: 'body', code: 'UNKNOWN_POLICY', detail });
    }
  }
  if (unknown.length === 0) return idle;
  const truncated = unknown.length > limits.fieldErrors;
  throw refusal({ errors: unknown.slice(0, limits.fieldErrors), truncated });
}

/** Decisions, and the policies that made them. */
export interface DecisionSet {
  readonly decisions: readonly PolicyDecision[];
  readonly set: PolicySet;
  readonly checkpoint: PolicyInput;
  readonly idle: ReadonlyMap<string, IdlePolicy>;
  /** Places of the input whose values no reason shows. */
  readonly masked?: ReasoningInput['masked'];
}

/**
 * The reason of each decision, in order. Only the gravest `limits.decisionsReasoned` have full reasons.
 * Depends on set, checkpoint and masks alone. Cost: about 30 µs for each, in turns of the event loop.
 */
export function* reasonsOf({ decisions, set, idle, ...seen }: DecisionSet): TimeSlicedWork<string[]> {
  const reasoned = new Set(gravestDecisions(decisions, limits.decisionsReasoned));
  const turn = new TimeSlice();
  const reasons: string[] = [];
  for (const decision of decisions) {
    const member = set.get(decision.policyId);
    const isBrief = member !== undefined && !reasoned.has(decision);
    reasons.push(isBrief ? unexplained(decision) : reasonOf(member, seen, idle.get(decision.policyId)));
    if (!turn.isOver) continue;
    yield;
    turn.begin();
  }
  return reasons;
}

/** The reason of one decision. For a policy not in force, its status. */
function reasonOf(
  member: Member | undefined,
  { checkpoint, masked = [] }: Pick<DecisionSet, 'checkpoint' | 'masked'>,
  idle: IdlePolicy | undefined,
): string {
  if (member === undefined) return `inactive: the policy is ${spelled(idle)}, not active`;
  const { action, onIndeterminate = null, version } = member.policy;
  return reasoning({
    action,
    onIndeterminate,
    version,
    node: member.condition.node,
    input: checkpoint,
    masked,
  });
}

const spelled = (idle: IdlePolicy | undefined): string =>
  idle === undefined ? 'not in force' : `in status ${idle.status}`;

export const summaryBody = ({ byDecision, decidedBy, ...summary }: SetSummary): PolicySummary => ({
  ...summary,
  byDecision: { ...byDecision },
  decidedBy: [...decidedBy],
});

/**
 * Simulation of policies without a record (contract G1, G7, G8): simulate one, simulate all, and the impact
 * of a proposed version on samples and on recorded checkpoints. Proven by
 * `test/service/policies/simulate.engines.test.ts`.
 */
import type { PolicySummary, SimulatedDecision } from '../../contract/governance.ts';
import { limits } from '../../contract/limits.ts';
import { readJson, type Json } from '../../core/json/parse.ts';
import type { PolicyInput } from '../../core/policies/evaluate/compile.ts';
import { counts, gravestDecisions } from '../../core/policies/evaluate/decision.ts';
import { explain } from '../../core/policies/explain/detail.ts';
import { compare, changeCounts, type Side } from '../../core/policies/impact/changes.ts';
import { reasoning } from '../../core/policies/explain/reasoning.ts';
import {
  PolicySet,
  type Member,
  type PolicyDecision,
  type PolicyVersion,
} from '../../core/policies/set/in-force.ts';
import { TimeSlice, type TimeSlicedWork } from '../../core/policies/evaluate/time-slice.ts';
import { judge } from '../../core/policies/explain/decisive-clauses.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { StoredPolicy } from '../../store/port/store.ts';
import { keepAnswer } from '../writes/keep-answer.ts';
import { notFound } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers } from '../port/handler.ts';
import { readCheckpoint } from './input.ts';
import { timeRange } from '../call/pages.ts';
import { readProposed } from './handlers.ts';
import { idlePolicies, reasonsOf, summaryBody } from './decisions.ts';
import { versionOf, type IdlePolicy } from '../in-force/policies.ts';
import { sideOf } from './history.ts';
import type { Services } from '../port/services.ts';
import { inTurns } from '../call/time-slice.ts';
import type { HistorySide, PolicyHistory } from '../call/work.ts';

export const simulations: Pick<
  Handlers,
  'simulatePolicy' | 'simulatePolicies' | 'analyzePolicyImpact' | 'analyzePolicyHistory'
> = {
  async simulatePolicy(call, services) {
    const { params, body, caller } = call;
    const { projectId } = caller.project;
    const policy = await requirePolicy(services, caller, params.policyId);
    const checkpoint = readCheckpoint(body.checkpoint, '/checkpoint');
    const inForce = await services.policySets.current(projectId);
    const others = (body.policyIds ?? []).filter((policyId) => policyId !== policy.policyId);
    const idle = await idlePolicies(services.store, inForce, {
      caller,
      policyIds: body.policyIds ?? [],
      pointer: '/policyIds',
    });
    const newest = await newestVersion(services, caller, policy);
    const beside = others
      .map((policyId) => inForce.set.get(policyId)?.policy)
      .filter((each) => each !== undefined);
    const set = PolicySet.of(
      new Map([newest, ...beside].map((each) => [each.policyId, each])).values(),
      inForce.set,
    );
    const asked = { set, ids: [policy.policyId, ...others], idle };
    const { summary, ...said } = await inTurns(simulating(asked, checkpoint, body.explain ?? true));
    const { policySetHash } = inForce.set;
    return keepAnswer(call, services, {
      status: 200,
      body: {
        policyId: policy.policyId,
        policyName: policy.name,
        simulatedVersion: newest.version,
        ...said,
        summary: { ...summary, policySetHash },
        simulatedAt: formatTimestamp(services.now()),
      },
    });
  },

  async simulatePolicies(call, services) {
    const { body, caller } = call;
    const checkpoint = readCheckpoint(body.checkpoint, '/checkpoint');
    const inForce = await services.policySets.current(caller.project.projectId);
    const ids = body.policyIds ?? [];
    const asked = { caller, policyIds: ids, pointer: '/policyIds' };
    const idle = await idlePolicies(services.store, inForce, asked);
    const simulation = { set: inForce.set, ids, idle };
    const said = await inTurns(simulating(simulation, checkpoint, body.explain ?? true));
    return keepAnswer(call, services, {
      status: 200,
      body: {
        policyCount: said.summary.total,
        ...said,
        simulatedAt: formatTimestamp(services.now()),
      },
    });
  },

  async analyzePolicyImpact(call, services) {
    const { params, body, caller } = call;
    const policy = await requirePolicy(services, caller, params.policyId);
    const proposed = readProposed(body.proposedVersion, '/proposedVersion/condition');
    const active = await activeVersion(services, caller, policy);
    const before = active === null ? null : sideOf(active);
    const version = policy.latestVersion + 1;
    const after: Side = {
      ...sideOf(sideIn({ ...proposed, version })),
      version: null,
    };
    const samples = body.sampleCheckpoints.map((sample, at) =>
      readCheckpoint(sample, `/sampleCheckpoints/${at}`),
    );
    const comparisons = await inTurns(comparing(samples, { before, after, version }));
    const changed = comparisons.filter((comparison) => comparison.changed).length;
    return keepAnswer(call, services, {
      status: 200,
      body: {
        policyId: policy.policyId,
        policyName: policy.name,
        ...changeCounts(changed, samples.length),
        comparisons,
        analyzedAt: formatTimestamp(services.now()),
      },
    });
  },

  async analyzePolicyHistory(call, services) {
    const { params, body, caller } = call;
    const { projectId } = caller.project;
    const policy = await requirePolicy(services, caller, params.policyId);
    const range = timeRange(body, 'body');
    const proposed = readProposed(body.proposedVersion, '/proposedVersion/condition');
    const active = await activeVersion(services, caller, policy);
    const limit = body.limit ?? limits.historyEvaluations;
    const result = await services.work.run(
      'policyHistory',
      {
        projectId,
        before: active,
        after: sideIn({ ...proposed, version: policy.latestVersion + 1 }),
        ...range,
        limit,
      },
      { events: limit },
    );
    const { startTime = null, endTime = null } = body;
    return keepAnswer(call, services, {
      status: 200,
      body: {
        policyId: policy.policyId,
        policyName: policy.name,
        ...historyBody(result),
        window: { startTime, endTime, evaluations: result.evaluations, complete: result.complete },
        analyzedAt: formatTimestamp(services.now()),
      },
    });
  },
};

/** The decisions on each sample before and after the change. */
function* comparing(
  samples: readonly PolicyInput[],
  { before, after, version }: { before: Side | null; after: Side; version: number },
) {
  const { action, onIndeterminate, condition } = after;
  const { node } = condition;
  const turn = new TimeSlice();
  const comparisons = [];
  for (const [index, checkpoint] of samples.entries()) {
    comparisons.push({
      index,
      ...compare(checkpoint, before, after),
      reasoning: reasoning({ action, onIndeterminate, version, node, input: checkpoint }),
      clauses: judge(node, checkpoint).deciders.map(({ clause }) => clause.path),
    });
    if (!turn.isOver) continue;
    yield;
    turn.begin();
  }
  return comparisons;
}

async function requirePolicy(
  { store }: Services,
  { project }: Caller,
  policyId: string,
): Promise<StoredPolicy> {
  const policy = await store.policy(project.projectId, policyId);
  if (policy === null) throw notFound('policy');
  return policy;
}

/** A simulation: policies of a set, and the status of those outside it. */
interface Simulation {
  readonly set: PolicySet;
  /** Empty for the whole set. */
  readonly ids: readonly string[];
  readonly idle: ReadonlyMap<string, IdlePolicy>;
}

/** Runs in turns of the event loop, because a trace costs a hundred times a decision. */
function* simulating(
  { set, ids, idle }: Simulation,
  checkpoint: PolicyInput,
  isExplained: boolean,
): TimeSlicedWork<{ decisions: SimulatedDecision[]; summary: PolicySummary; explained?: number }> {
  const { decisions: said, summary } = yield* set.deciding(checkpoint, { ids });
  const reasons = yield* reasonsOf({ decisions: said, set, checkpoint, idle });
  const explained = new Set(isExplained ? toExplain(said, set) : []);
  const turn = new TimeSlice();
  const decisions: SimulatedDecision[] = [];
  for (const [at, decision] of said.entries()) {
    const { policyId } = decision;
    const member = set.get(policyId);
    const policyName = member?.policy.name ?? idle.get(policyId)?.name ?? '';
    const told = { ...decision, policyName, reasoning: reasons[at] as string };
    const isTraced = member !== undefined && explained.has(decision);
    decisions.push(isTraced ? { ...told, ...explanation(member, checkpoint) } : told);
    if (!turn.isOver) continue;
    yield;
    turn.begin();
  }
  const counted = isExplained ? { explained: explained.size } : {};
  return { decisions, summary: summaryBody(summary), ...counted };
}

/**
 * The decisions to explain: of those in force at most `limits.decisionsExplained`, the gravest; in a large
 * set only decisive ones.
 */
function toExplain(decisions: readonly PolicyDecision[], set: PolicySet): readonly PolicyDecision[] {
  const isLarge = set.size > limits.policiesListed;
  const traced = decisions.filter(
    ({ policyId, outcome }) => (!isLarge || counts(outcome)) && set.get(policyId) !== undefined,
  );
  return gravestDecisions(traced, limits.decisionsExplained);
}

function explanation({ condition }: Member, checkpoint: PolicyInput) {
  const { trace, decisivePaths, nearest } = explain(condition.node, checkpoint);
  return {
    trace: trace.map((entry) => ({ ...entry, reads: { ...entry.reads } })),
    witness: [...decisivePaths],
    nearest: nearest.map((change) => ({ ...change })),
  };
}

/** The newest version of a policy, as a member of a set. */
async function newestVersion(
  { store }: Services,
  { project }: Caller,
  { policyId, name, latestVersion }: StoredPolicy,
): Promise<PolicyVersion> {
  const stored = await store.policyVersion(project.projectId, policyId, latestVersion);
  if (stored === null)
    throw new Error(`expected version ${latestVersion} of policy ${policyId} in the store, got none`);
  return versionOf(stored, name);
}

/** The version in force, or null. */
async function activeVersion(
  { store }: Services,
  { project }: Caller,
  { policyId, activeVersion: version }: StoredPolicy,
): Promise<HistorySide | null> {
  const stored = version === null ? null : await store.policyVersion(project.projectId, policyId, version);
  if (stored === null) return null;
  return sideIn({ ...stored, normalized: readJson(stored.normalized) });
}

/** The members of a version that decide. */
const sideIn = ({
  version,
  action,
  onIndeterminate,
  normalized,
}: Omit<HistorySide, 'condition'> & { readonly normalized: Json }): HistorySide => ({
  version,
  action,
  onIndeterminate,
  condition: normalized,
});

/** The counts for the answer. The worker thread returned a copy, so it may be changed. */
const historyBody = ({ impact: { notReplayable, byAgent, byTool, examples, ...counts } }: PolicyHistory) => ({
  ...counts,
  notReplayable: { count: notReplayable.count, paths: [...notReplayable.paths] },
  byAgent: [...byAgent],
  byTool: [...byTool],
  examples: { tightened: [...examples.tightened], loosened: [...examples.loosened] },
});

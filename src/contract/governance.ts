/**
 * Governance: policy evaluation, simulation, impact, snapshots (contract G5-G10, O5). `src/core/policies/` has the
 * semantics.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { action, policyId, policyParams, proposedVersion, severity, version } from './policies.ts';
import { policyActions, policyOutcomes } from './policy-words.ts';
import {
  clientId,
  exact,
  freeObject,
  nullable,
  oneOf,
  page,
  paging,
  readOnly,
  runIdParams,
  searchedName,
  serviceId,
  sha256Hash,
  timestamp,
} from './shapes.ts';

const tag = 'Governance';
const beta = { tag, stability: 'beta' } as const;
const stable = { tag, stability: 'stable', origin: 'specification' } as const;
const specified = { ...beta, origin: 'specification' } as const;
const extension = { ...beta, origin: 'extension' } as const;

/** A policy input, `checkpoint` on the wire: `{step?, context}`. */
const Checkpoint = exact({
  step: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  context: freeObject,
});
const AnyCheckpoint = Type.Record(Type.String(), Type.Unknown(), {
  description: '{step?, context}; an object without the member context is the context itself',
});

const Trace = Type.Object({
  path: Type.String({ description: 'Path in the canonical condition, such as $.and[0].===' }),
  op: Type.String(),
  reads: freeObject,
  result: Type.Unknown(),
  decisive: Type.Boolean(),
});
const Nearest = Type.Object({ path: Type.String(), op: Type.String(), value: Type.Unknown() });

const EvaluatedDecision = Type.Object({
  policyId: Type.String(),
  decision: action,
  reasoning: Type.String({ maxLength: limits.reasoningChars }),
  version: nullable(version),
  outcome: oneOf(policyOutcomes),
  severity: nullable(severity),
});
type EvaluatedDecision = Static<typeof EvaluatedDecision>;

const SimulatedDecision = Type.Object({
  policyId: Type.String(),
  policyName: Type.String(),
  version: nullable(version),
  decision: action,
  outcome: oneOf(policyOutcomes),
  severity: nullable(severity),
  reasoning: Type.String({ maxLength: limits.reasoningChars }),
  trace: Type.Optional(Type.Array(Trace)),
  witness: Type.Optional(Type.Array(Type.String())),
  nearest: Type.Optional(Type.Array(Nearest)),
});
export type SimulatedDecision = Static<typeof SimulatedDecision>;

const explained = Type.Optional(
  Type.Integer({
    minimum: 0,
    description: `Number of decisions with trace, witness and nearest: the ${limits.decisionsExplained} gravest at most`,
  }),
);

const Counts = Type.Object({
  allow: Type.Integer(),
  warn: Type.Integer(),
  escalate: Type.Integer(),
  deny: Type.Integer(),
});
const Summary = Type.Object({
  total: Type.Integer({ minimum: 0 }),
  matched: Type.Integer({ minimum: 0 }),
  indeterminate: Type.Integer({ minimum: 0 }),
  byDecision: Counts,
  combined: action,
  decidedBy: Type.Array(Type.String()),
  maxSeverity: nullable(severity),
  policySetHash: sha256Hash,
  engine: Type.String(),
  truncated: Type.Optional(
    Type.Literal(true, {
      description: `More than ${limits.decisionsListed} policies decided: the gravest are listed, all are counted`,
    }),
  ),
});
export type PolicySummary = Static<typeof Summary>;

const PolicyEvaluation = Type.Object({
  runId: Type.String(),
  evaluationId: serviceId('pev'),
  decisions: Type.Array(EvaluatedDecision),
  combined: action,
  summary: Summary,
  approvalId: nullable(serviceId('apr')),
  evaluatedAt: timestamp('When it was decided'),
});
export type PolicyEvaluation = Static<typeof PolicyEvaluation>;

/** An evaluation as its leaf has it; the rows of an export are these. */
export const RecordedEvaluation = Type.Object({
  id: serviceId('pev'),
  runId: nullable(Type.String()),
  policySource: oneOf(['requested', 'active', 'tool'] as const),
  policyCount: Type.Integer({ minimum: 0 }),
  decisions: Type.Unknown(),
  shadow: Type.Unknown({ description: 'Decisions of policies in review: recorded but not enforced' }),
  checkpoint: Type.Unknown(),
  policySetHash: nullable(sha256Hash),
  combined: action,
  evaluatedAt: timestamp('When it was decided'),
  sequence: Type.Integer({ minimum: 0, description: 'Leaf index in the project’s log' }),
});
export type RecordedEvaluation = Static<typeof RecordedEvaluation>;

const PolicyEvaluationRecord = Type.Object({
  evaluationId: Type.String({ description: 'The same as id' }),
  ...RecordedEvaluation.properties,
});
export type PolicyEvaluationRecord = Static<typeof PolicyEvaluationRecord>;

const Snapshot = {
  policyHash: Type.String({ maxLength: limits.snapshotChars }),
  modelRoute: Type.String({ maxLength: limits.snapshotChars }),
  toolRegistryHash: Type.String({ maxLength: limits.snapshotChars }),
  configStateHash: Type.String({ maxLength: limits.snapshotChars }),
};
const SnapshotInput = exact(Snapshot);
export type SnapshotInput = Static<typeof SnapshotInput>;
/** A snapshot, also as its GET shows it. */
export const ShownSnapshot = exact({ ...Snapshot, runId: readOnly });
const GovernanceSnapshot = Type.Object({ runId: Type.String(), ...Snapshot });
type GovernanceSnapshot = Static<typeof GovernanceSnapshot>;

const VersionDecision = Type.Object({
  version: nullable(version),
  decision: action,
  outcome: oneOf(policyOutcomes),
});
const direction = oneOf(['tightened', 'loosened', 'same'] as const);
const Comparison = Type.Object({
  index: Type.Integer({ minimum: 0 }),
  before: VersionDecision,
  after: VersionDecision,
  changed: Type.Boolean(),
  direction,
  reasoning: Type.String(),
  clauses: Type.Array(Type.String()),
});

const impactSummary = {
  policyId: Type.String(),
  policyName: Type.String(),
  sampleCount: Type.Integer({ minimum: 0 }),
  changedCount: Type.Integer({ minimum: 0 }),
  changeRate: Type.Number({ minimum: 0, maximum: 1 }),
};
const Group = Type.Object({
  key: Type.String(),
  total: Type.Integer(),
  tightened: Type.Integer(),
  loosened: Type.Integer(),
});
const Example = Type.Object({
  evaluationId: Type.String(),
  runId: Type.String(),
  before: VersionDecision,
  after: VersionDecision,
  reasoning: Type.String(),
});

const simulateBody = {
  checkpoint: AnyCheckpoint,
  policyIds: Type.Optional(Type.Array(policyId, { maxItems: limits.policyIds })),
  explain: Type.Optional(
    Type.Boolean({ description: 'Include trace, witness and nearest change; default true' }),
  ),
};

export const governance = {
  evaluatePolicy: operation({
    ...stable,
    method: 'POST',
    path: '/governance/policy/evaluate',
    scope: 'governance:evaluate',
    summary: 'Evaluate policies on a checkpoint of a run, and record the evaluation',
    body: exact({
      runId: clientId('Run'),
      policies: Type.Optional(Type.Array(policyId, { maxItems: limits.policyIds })),
      checkpoint: Checkpoint,
    }),
    success: { 200: PolicyEvaluation },
    statuses: [400, 401, 500],
  }),
  listPolicyEvaluations: operation({
    ...stable,
    method: 'GET',
    path: '/governance/policy/evaluations',
    scope: 'governance:read',
    command: 'policy evaluations',
    summary: 'List recorded evaluations, newest first',
    query: exact({
      runId: Type.Optional(clientId('Run')),
      decision: Type.Optional(oneOf(policyActions)),
      tool: Type.Optional(searchedName('The name of the tool, of a decision about a tool call')),
      startTime: Type.Optional(timestamp('Inclusive lower bound on the time of the decision')),
      endTime: Type.Optional(timestamp('Inclusive upper bound on the time of the decision')),
      ...paging,
    }),
    success: { 200: page(PolicyEvaluationRecord) },
    statuses: [400, 401, 500],
  }),
  getSnapshot: operation({
    ...specified,
    method: 'GET',
    path: '/governance/snapshots/{runId}',
    scope: 'governance:read',
    command: 'policy snapshot',
    summary: 'Get the governance snapshot of a run',
    params: runIdParams,
    success: { 200: GovernanceSnapshot },
    statuses: [401, 404, 500],
  }),
  putSnapshot: operation({
    ...extension,
    method: 'PUT',
    path: '/governance/snapshots/{runId}',
    scope: 'governance:evaluate',
    summary: 'Record the governance snapshot of a run; the first one is final',
    params: runIdParams,
    body: ShownSnapshot,
    success: { 200: GovernanceSnapshot },
    statuses: [400, 401, 409, 500],
  }),
  simulatePolicy: operation({
    ...specified,
    method: 'POST',
    path: '/governance/policies/{policyId}/simulate',
    scope: 'governance:evaluate',
    summary: 'Evaluate the newest version of a policy without recording',
    params: policyParams,
    body: exact(simulateBody),
    success: {
      200: Type.Object({
        policyId: Type.String(),
        policyName: Type.String(),
        simulatedVersion: version,
        decisions: Type.Array(SimulatedDecision),
        summary: Summary,
        explained,
        simulatedAt: timestamp('When it was evaluated'),
      }),
    },
    statuses: [400, 401, 404],
  }),
  analyzePolicyImpact: operation({
    ...specified,
    method: 'POST',
    path: '/governance/policies/{policyId}/impact',
    scope: 'governance:evaluate',
    summary: 'Compare a proposed version with the active one on sample checkpoints',
    params: policyParams,
    body: exact({
      proposedVersion,
      sampleCheckpoints: Type.Array(AnyCheckpoint, { minItems: 1, maxItems: limits.sampleCheckpoints }),
    }),
    success: {
      200: Type.Object({
        ...impactSummary,
        comparisons: Type.Array(Comparison),
        analyzedAt: timestamp('When it was compared'),
      }),
    },
    statuses: [400, 401, 404],
  }),
  analyzePolicyHistory: operation({
    ...extension,
    method: 'POST',
    path: '/governance/policies/{policyId}/impact/history',
    scope: 'governance:evaluate',
    summary: 'Compare a proposed version with the active one on recorded checkpoints of a period',
    params: policyParams,
    body: exact({
      proposedVersion,
      startTime: Type.Optional(timestamp('Inclusive lower bound on evaluatedAt, to the millisecond')),
      endTime: Type.Optional(timestamp('Inclusive upper bound on evaluatedAt, to the millisecond')),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.historyEvaluations })),
    }),
    success: {
      200: Type.Object({
        ...impactSummary,
        window: Type.Object({
          startTime: nullable(timestamp('As requested')),
          endTime: nullable(timestamp('As requested')),
          evaluations: Type.Integer({ minimum: 0 }),
          complete: Type.Boolean({
            description: 'false: only the newest evaluations of the period, up to the limit',
          }),
        }),
        replayed: Type.Integer({ minimum: 0 }),
        notReplayable: Type.Object({
          count: Type.Integer({ minimum: 0 }),
          paths: Type.Array(Type.String()),
        }),
        tightened: Type.Integer({ minimum: 0 }),
        loosened: Type.Integer({ minimum: 0 }),
        interval: Type.Object({ low: Type.Number(), high: Type.Number() }, { description: 'Wilson, 95 %' }),
        byAgent: Type.Array(Group),
        byTool: Type.Array(Group),
        examples: Type.Object({ tightened: Type.Array(Example), loosened: Type.Array(Example) }),
        analyzedAt: timestamp('When it was compared'),
      }),
    },
    statuses: [400, 401, 404],
  }),
  simulatePolicies: operation({
    ...specified,
    method: 'POST',
    path: '/governance/policies/simulate',
    scope: 'governance:evaluate',
    summary: 'Evaluate all active policies without recording',
    body: exact(simulateBody),
    success: {
      200: Type.Object({
        policyCount: Type.Integer({ minimum: 0 }),
        decisions: Type.Array(SimulatedDecision),
        summary: Summary,
        explained,
        simulatedAt: timestamp('When it was evaluated'),
      }),
    },
    statuses: [400, 401],
  }),
} as const;

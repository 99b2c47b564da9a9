/** Risk routing (contract F7-F9, O3); `src/core/risk/` has the scoring. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { riskActions, riskModes } from './risk-words.ts';
import {
  clientId,
  exact,
  nullable,
  oneOf,
  page,
  paging,
  serviceId,
  sha256Hash,
  timestamp,
} from './shapes.ts';

const stable = { tag: 'Risk Routing', stability: 'stable', origin: 'specification' } as const;
const action = oneOf(riskActions);
const unit = Type.Number({ minimum: 0, maximum: 1 });
const label = (max: number) => Type.String({ minLength: 1, maxLength: max });

export const RiskInput = exact({
  runId: clientId('Run'),
  policyDecisions: Type.Optional(
    Type.Array(
      exact({
        policyId: label(limits.identifierChars),
        decision: label(limits.riskDecisionChars),
        score: Type.Number(),
      }),
      { maxItems: limits.riskItems },
    ),
  ),
  quotaState: Type.Optional(
    exact({
      used: Type.Optional(Type.Number({ minimum: 0 })),
      limit: Type.Optional(Type.Number({ minimum: 0 })),
      remaining: Type.Optional(Type.Number()),
    }),
  ),
  evaluationSignals: Type.Optional(
    Type.Array(exact({ signal: label(limits.signalChars), value: Type.Number() }), {
      maxItems: limits.riskItems,
    }),
  ),
  explicitSignals: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { maxProperties: limits.riskItems }),
  ),
});
export type RiskInput = Static<typeof RiskInput>;

const Factor = Type.Object({
  name: Type.String(),
  weight: Type.Number(),
  value: Type.Number(),
  contribution: Type.Number({ description: 'weight · value; the contributions sum exactly to the score' }),
});
export const RiskDecision = Type.Object({
  id: serviceId('rsk'),
  runId: Type.String(),
  action,
  wouldBeAction: nullable(action),
  score: unit,
  factors: Type.Array(Factor),
  deterministicInputsHash: sha256Hash,
  configHash: sha256Hash,
  evaluatedAt: timestamp('When it was decided'),
});
export type RiskDecision = Static<typeof RiskDecision>;

export const riskSignal = exact({
  weight: unit,
  direction: Type.Optional(oneOf(['higher_is_riskier', 'lower_is_riskier'] as const)),
  min: Type.Optional(Type.Number()),
  max: Type.Optional(Type.Number()),
});
const thresholds = exact({ allow: unit, flag: unit, escalate: unit, block: unit });
const config = {
  mode: oneOf(riskModes),
  thresholds,
  defaultAction: action,
};
const signals = Type.Record(Type.String(), riskSignal, {
  maxProperties: limits.riskItems,
  description: 'Known signals by name; replaces the built-in registry if present',
});
const Band = Type.Object({ from: unit, action });

export const RiskConfigInput = exact({
  ...config,
  signals: Type.Optional(signals),
  bands: Type.Optional(Type.Array(Type.Unknown())),
});
export type RiskConfigInput = Static<typeof RiskConfigInput>;
export const RiskRouterConfig = Type.Object({
  ...config,
  signals,
  bands: Type.Array(Band, { description: 'The actions of the thresholds, lowest first; read only' }),
});
export type RiskRouterConfig = Static<typeof RiskRouterConfig>;

export const risk = {
  evaluateRisk: operation({
    ...stable,
    method: 'POST',
    path: '/risk/evaluate',
    scope: 'risk:evaluate',
    meters: 'risk_decision',
    summary: 'Score a step of a run and route it: allow, flag, escalate or block',
    body: RiskInput,
    success: { 200: RiskDecision },
    statuses: [400, 401, 429, 500],
  }),
  getRiskConfig: operation({
    ...stable,
    method: 'GET',
    path: '/risk/config',
    scope: 'risk:read',
    command: 'risk config get',
    summary: 'Get the risk router configuration',
    tagged: true,
    success: { 200: RiskRouterConfig },
    statuses: [401, 500],
  }),
  putRiskConfig: operation({
    ...stable,
    method: 'PUT',
    path: '/risk/config',
    scope: 'risk:configure',
    summary: 'Replace the risk router configuration',
    ifMatch: true,
    body: RiskConfigInput,
    success: { 200: RiskRouterConfig },
    statuses: [400, 401, 500],
  }),
  listRiskDecisions: operation({
    ...stable,
    method: 'GET',
    path: '/risk/decisions',
    scope: 'risk:read',
    command: 'risk decisions',
    summary: 'List risk decisions, newest first',
    query: exact({
      runId: Type.Optional(clientId('Run')),
      ...paging,
    }),
    success: { 200: page(RiskDecision) },
    statuses: [400, 401, 500],
  }),
} as const;

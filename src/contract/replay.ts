/** Replay (contract F10-F12, F14, F16, G10, O4); `src/core/replay/` has the comparison. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ShownSnapshot } from './governance.ts';
import { Edge, Node } from './graphs.ts';
import { jobStatuses } from './job-words.ts';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { driftSeverities, stepStatuses } from './replay-words.ts';
import { clientId, exact, nullable, oneOf, page, paging, serviceId, timestamp } from './shapes.ts';

const stable = { tag: 'Replay', stability: 'stable', origin: 'specification' } as const;

export const ReplayRequest = exact({
  runId: clientId('The run to replay'),
  replaySnapshot: Type.Optional(ShownSnapshot),
  compareRunId: Type.Optional(clientId('Another run, whose recorded steps are the expected ones')),
});
export type ReplayRequest = Static<typeof ReplayRequest>;

export const GraphReplayRequest = exact({
  runId: clientId('Run'),
  nodes: Type.Array(Node, { maxItems: limits.graphNodesDeclared }),
  edges: Type.Array(Edge, { maxItems: limits.graphEdgesAnswered }),
});
export type GraphReplayRequest = Static<typeof GraphReplayRequest>;

const ReplaySummary = Type.Object({
  jobId: serviceId('job'),
  replayId: serviceId('rpl'),
  runId: Type.String(),
  status: oneOf(jobStatuses),
  stepsCount: Type.Integer({ minimum: 0 }),
  warningsCount: Type.Integer({ minimum: 0 }),
  driftCount: Type.Integer({ minimum: 0 }),
  createdAt: timestamp('When it was accepted'),
  completedAt: nullable(timestamp('When it completed or failed')),
  error: nullable(Type.Object({ code: Type.String(), message: Type.String() })),
});
export type ReplaySummary = Static<typeof ReplaySummary>;

const Step = Type.Object({
  index: Type.Integer({ minimum: 0 }),
  eventId: Type.String(),
  status: oneOf(stepStatuses),
  eventType: Type.String(),
  action: Type.String(),
  timestamp: timestamp('Of the recorded event'),
  detail: Type.Optional(
    Type.String({ description: 'The difference if the step does not match: expected and actual value' }),
  ),
});
const Drift = Type.Object({
  field: Type.String(),
  expected: Type.String(),
  actual: Type.String(),
  severity: oneOf(driftSeverities),
});

export const ReplayResult = Type.Object({
  replayId: serviceId('rpl'),
  runId: Type.String(),
  steps: Type.Array(Step),
  warnings: Type.Array(Type.String()),
  driftDiagnostics: Type.Array(Drift),
  createdAt: timestamp('When it was accepted'),
  summary: Type.Object({
    steps: Type.Integer({ minimum: 0 }),
    match: Type.Integer({ minimum: 0 }),
    mismatch: Type.Integer({ minimum: 0 }),
    missing: Type.Integer({ minimum: 0 }),
    extra: Type.Integer({ minimum: 0 }),
    notReplayable: Type.Integer({ minimum: 0 }),
    firstDivergence: nullable(Type.Integer({ minimum: 0 })),
  }),
  truncated: Type.Optional(Type.Boolean()),
});
export type ReplayResult = Static<typeof ReplayResult>;

const accepted = Type.Object({ jobId: serviceId('job') });

export const replay = {
  listReplays: operation({
    ...stable,
    method: 'GET',
    path: '/replay',
    scope: 'replay:read',
    command: 'replay list',
    summary: 'List replays, newest first',
    query: exact({
      runId: Type.Optional(clientId('Run')),
      status: Type.Optional(oneOf(jobStatuses)),
      ...paging,
    }),
    success: { 200: page(ReplaySummary) },
    statuses: [400, 401, 500],
  }),
  createReplay: operation({
    ...stable,
    method: 'POST',
    path: '/replay',
    scope: 'replay:write',
    meters: 'replay_verification',
    summary: 'Repeat the recorded decisions of a run and compare them',
    body: ReplayRequest,
    success: { 202: accepted },
    statuses: [400, 401, 429, 500],
  }),
  createGraphReplay: operation({
    ...stable,
    method: 'POST',
    path: '/replay/causal-graph',
    scope: 'replay:write',
    meters: 'replay_verification',
    summary: 'Compare a declared causal graph with the one derived from events',
    body: GraphReplayRequest,
    bodyBytes: limits.graphBodyBytes,
    success: { 202: accepted },
    statuses: [400, 401, 429, 500],
  }),
  getReplay: operation({
    ...stable,
    method: 'GET',
    path: '/replay/{replayId}',
    scope: 'replay:read',
    summary: 'Get the result of a completed replay',
    params: exact({ replayId: serviceId('rpl') }),
    success: { 200: ReplayResult },
    statuses: [401, 404, 500],
  }),
} as const;

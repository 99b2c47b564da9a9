/**
 * Tool governance (contract M9-M12). Policies evaluate the call as the context
 * `{…context, tool: {name, server, version, schemaHash, annotations}, arguments, actor, runId}`.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { Actor } from './events.ts';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { policyActions } from './policy-words.ts';
import { idPattern } from './text-patterns.ts';
import { clientId, exact, freeObject, nullable, oneOf, serviceId, sha256Hash, timestamp } from './shapes.ts';

const label = Type.String({ minLength: 1, maxLength: limits.toolNameChars });
const hint = Type.Optional(Type.Boolean());

/** Members that the service adds to the context of a tool call; the context of a caller must not have them. */
export const toolContextMembers = ['tool', 'arguments', 'actor', 'runId'] as const;

export const ToolCall = exact({
  tool: exact({
    name: label,
    server: Type.Optional(label),
    version: Type.Optional(label),
    schemaHash: Type.Optional(Type.String({ maxLength: limits.snapshotChars })),
    annotations: Type.Optional(
      exact({ readOnlyHint: hint, destructiveHint: hint, idempotentHint: hint, openWorldHint: hint }),
    ),
  }),
  arguments: freeObject,
  runId: Type.Optional(clientId('Run')),
  actor: Type.Optional(Actor),
  context: Type.Optional(freeObject),
  policyIds: Type.Optional(Type.Array(clientId('Policy'), { maxItems: limits.toolPolicyIds })),
  approvalId: Type.Optional(
    Type.String({
      pattern: idPattern('apr'),
      description:
        'Only this approval of the same call may let it run. Default: the newest one, or a new one if none can be used',
    }),
  ),
  dryRun: Type.Optional(Type.Boolean({ description: 'true: decide but record nothing' })),
});
export type ToolCall = Static<typeof ToolCall>;

const ToolDecision = Type.Object({
  evaluationId: serviceId('pev'),
  decision: oneOf(policyActions),
  allowed: Type.Boolean({
    description:
      'true if decision is allow or warn. Where a person has decided an escalated call, decision is allow once, or deny',
  }),
  reason: Type.String({ maxLength: limits.reasoningChars }),
  matchedPolicies: Type.Array(
    Type.Object({
      policyId: Type.String(),
      version: Type.Integer({ minimum: 1 }),
      decision: oneOf(policyActions),
    }),
  ),
  obligations: Type.Array(Type.Object({ type: Type.String(), params: freeObject })),
  riskScore: nullable(Type.Number()),
  argumentsHash: sha256Hash,
  approvalId: nullable(serviceId('apr')),
  evaluatedAt: timestamp('When it was decided'),
  expiresAt: timestamp('When the decision expires'),
});
export type ToolDecision = Static<typeof ToolDecision>;

export const tools = {
  evaluateTool: operation({
    method: 'POST',
    path: '/mcp/tools/evaluate',
    tag: 'Governance',
    stability: 'stable',
    origin: 'specification',
    scope: 'tools:evaluate',
    summary: 'Decide whether a tool call may run, and record it',
    body: ToolCall,
    success: { 200: ToolDecision },
    statuses: [400, 401, 403, 429, 500],
  }),
} as const;

/**
 * Tool governance (contract M9-M12). Policies evaluate the call as the context
 * `{…context, tool: {name, server, version, schemaHash, annotations}, arguments, actor, runId, facts, action}`.
 * `facts` has the caller's facts and its client; the plane computes `action`, the canonical action of the call.
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
const callSources = ['hook', 'mcp'] as const;
export type CallSource = (typeof callSources)[number];
const hint = Type.Optional(Type.Boolean());

/** Members that the service adds to the context of a tool call, and names that it keeps for itself; the context of a caller must not have them. */
export const toolContextMembers = [
  'tool',
  'arguments',
  'actor',
  'runId',
  'facts',
  'action',
  'state',
  'caller',
  'request',
] as const;

const absolutePath = Type.String({ pattern: '^/', maxLength: limits.actionPathChars });
const factPath = (description: string) =>
  Type.Optional(nullable(Type.String({ pattern: '^/', maxLength: limits.actionPathChars, description })));

const ToolFacts = exact({
  cwd: factPath('Folder that the call starts in'),
  home: factPath('Home folder'),
  workspace: factPath('The git root at the start of the session'),
  real: Type.Optional(
    Type.Record(Type.String(), absolutePath, {
      maxProperties: limits.factLinks,
      description: 'Where absolute paths lead whose links were resolved',
    }),
  ),
  remotes: Type.Optional(
    Type.Record(Type.String(), nullable(Type.String({ maxLength: limits.factHostChars })), {
      maxProperties: limits.factRemotes,
      description: 'Hosts of git remotes by name; null for one without a host',
    }),
  ),
  plane: Type.Optional(
    nullable(Type.String({ maxLength: limits.factHostChars, description: 'host:port of this plane' })),
  ),
  sandbox: Type.Optional(
    nullable(
      Type.String({ maxLength: limits.toolNameChars, description: 'The sandbox that the call runs in' }),
    ),
  ),
});

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
  client: Type.Optional(
    Type.Object(
      { name: label, version: Type.Optional(Type.String({ maxLength: limits.toolNameChars })) },
      {
        additionalProperties: false,
        description:
          'The program whose tool it is: claude-code, codex, gemini, opencode or cursor; kernel for what a sandbox asks. Tools of others have an action of kind unknown',
      },
    ),
  ),
  facts: Type.Optional(ToolFacts),
  context: Type.Optional(freeObject),
  policyIds: Type.Optional(Type.Array(clientId('Policy'), { maxItems: limits.toolPolicyIds })),
  toolCallId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.actionChars,
      description: 'The id that the client gave this call. Policies do not see it',
    }),
  ),
  /** The gate that asks: the hook of the client, or the MCP proxy, which joins the permission of the hook. */
  source: Type.Optional(oneOf(callSources)),
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
  actionHash: sha256Hash,
  approvalId: nullable(serviceId('apr')),
  joined: Type.Optional(
    Type.Literal(true, {
      description: 'The hook of the same call used the approval: this is its answer, with its evaluationId',
    }),
  ),
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

/** Approvals: decisions of people on what a policy escalated (contract O9). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { clientId, cursorQuery, exact, limitQuery, nullable, oneOf, serviceId, timestamp } from './shapes.ts';
import { ToolCall } from './tools.ts';

const extension = { tag: 'Governance', stability: 'beta', origin: 'extension' } as const;

const approvalStatuses = ['pending', 'approved', 'denied', 'expired'] as const;
export type ApprovalStatus = (typeof approvalStatuses)[number];

/** `used`: approved, and a call has run by it. */
const approvalFilters = [...approvalStatuses, 'used'] as const;
export type ApprovalFilter = (typeof approvalFilters)[number];
const approvalOutcomes = ['approved', 'denied'] as const;
export type ApprovalOutcome = (typeof approvalOutcomes)[number];

const Approval = Type.Object({
  approvalId: serviceId('apr'),
  evaluationId: serviceId('pev'),
  runId: Type.String(),
  reason: Type.String(),
  status: oneOf(approvalStatuses),
  requestedAt: timestamp('When the evaluation escalated'),
  requestedBy: Type.String({ description: 'The key that requested it; this key cannot decide' }),
  decidedAt: nullable(timestamp('When it was decided')),
  decidedBy: nullable(Type.String()),
  comment: nullable(Type.String()),
  expiresAt: timestamp('When the request expires, and when an approved call can no longer run'),
  used: nullable(
    Type.Object(
      { evaluationId: serviceId('pev'), at: timestamp('When it was used') },
      {
        description:
          'The evaluation that let the approved call run; null until then. An approval is used once',
      },
    ),
  ),
});
export type Approval = Static<typeof Approval>;

const seen = (description: string) =>
  nullable(
    Type.Record(Type.String(), Type.Unknown(), {
      description: `${description}. Values that the project redacts are replaced`,
    }),
  );

/** An approval with what it is about: a person who decides has to see the call. */
const ShownApproval = Type.Object({
  ...Approval.properties,
  tool: nullable(ToolCall.properties.tool),
  arguments: seen('Arguments of the tool call; null where they were erased'),
  actor: nullable(
    Type.Union([Type.String(), Type.Object({}, { additionalProperties: true })], {
      description: 'Who made the tool call',
    }),
  ),
  context: seen('What else the policies saw; null where it was erased'),
  policies: Type.Array(
    Type.Object({
      policyId: Type.String(),
      version: nullable(Type.Integer({ minimum: 1 })),
      reasoning: Type.String(),
    }),
    { description: 'The policies that escalated' },
  ),
});
export type ShownApproval = Static<typeof ShownApproval>;

const params = exact({ approvalId: serviceId('apr') });

export const approvals = {
  listApprovals: operation({
    ...extension,
    method: 'GET',
    path: '/approvals',
    scope: 'governance:read',
    command: 'approvals list',
    summary: 'List approvals, newest first',
    query: exact({
      status: Type.Optional(oneOf(approvalFilters)),
      runId: Type.Optional(clientId('Run')),
      cursor: cursorQuery,
      limit: limitQuery(limits.pageDefault, limits.pageMax),
    }),
    success: {
      200: Type.Object({
        data: Type.Array(ShownApproval),
        nextCursor: nullable(Type.String()),
        altered: Type.Optional(
          Type.Array(serviceId('apr'), {
            description:
              'Approvals of this page whose stored rows differ from the log; they are not shown. Run gov log fsck --deep',
          }),
        ),
      }),
    },
    statuses: [400, 401, 500],
  }),
  getApproval: operation({
    ...extension,
    method: 'GET',
    path: '/approvals/{approvalId}',
    scope: 'governance:read',
    summary: 'Get one approval',
    params,
    success: { 200: ShownApproval },
    statuses: [401, 404, 500],
  }),
  decideApproval: operation({
    ...extension,
    method: 'POST',
    path: '/approvals/{approvalId}/decision',
    scope: 'approvals:decide',
    summary: 'Approve or deny an action that a policy escalated',
    params,
    body: exact({
      outcome: oneOf(approvalOutcomes),
      comment: Type.Optional(Type.String({ maxLength: limits.reasonChars })),
    }),
    success: { 200: Approval },
    statuses: [400, 401, 403, 404, 409, 500],
  }),
} as const;

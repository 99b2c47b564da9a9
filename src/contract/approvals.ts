/** Approvals: decisions of people on what a policy escalated (contract O9). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { approverKinds, base64url } from './approvers.ts';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { clientId, exact, nullable, oneOf, paging, serviceId, sha256Hash, timestamp } from './shapes.ts';
import { ToolCall } from './tools.ts';

const extension = { tag: 'Governance', stability: 'beta', origin: 'extension' } as const;

const approvalStatuses = ['pending', 'approved', 'denied', 'expired'] as const;
export type ApprovalStatus = (typeof approvalStatuses)[number];

/** `used`: approved, and a call has run by it. */
const approvalFilters = [...approvalStatuses, 'used'] as const;
export type ApprovalFilter = (typeof approvalFilters)[number];
const approvalOutcomes = ['approved', 'denied'] as const;
export type ApprovalOutcome = (typeof approvalOutcomes)[number];

const nameOf = (member: string) =>
  nullable(
    Type.String({
      description: `Name of the key or person in ${member} now, for reading; no proof has it. Null where it has none`,
    }),
  );

const Approval = Type.Object({
  approvalId: serviceId('apr'),
  evaluationId: serviceId('pev'),
  runId: Type.String(),
  reason: Type.String(),
  status: oneOf(approvalStatuses),
  requestedAt: timestamp('When the evaluation escalated'),
  requestedBy: Type.String({ description: 'The key that requested it; this key cannot decide' }),
  requestedByName: nameOf('requestedBy'),
  decidedAt: nullable(timestamp('When it was decided')),
  decidedBy: nullable(Type.String()),
  decidedByName: nameOf('decidedBy'),
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
  signatureRequired: Type.Boolean({
    description:
      'true: an agent asked a plane, or a policy with requireSignedApproval escalated, so only a signature approves',
  }),
  signature: nullable(
    Type.Object(
      {
        approverId: serviceId('apv'),
        kind: oneOf(approverKinds),
        name: Type.String(),
        fingerprint: Type.String(),
        statement: Type.String({ description: 'The signed text' }),
        ssh: nullable(Type.String({ description: 'The signature of an SSH key' })),
        passkey: nullable(
          Type.Object({
            clientDataJSON: Type.String(),
            authenticatorData: Type.String(),
            signature: Type.String(),
          }),
        ),
      },
      {
        description:
          'The approver who signed the decision; null if it rests on the API key or the session of decidedBy alone',
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
  context: seen(
    'What else the policies saw, without the action of the call, which follows from it; null where it was erased',
  ),
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

/** What an approver signs. `src/core/approvals/statement.ts` documents its members. */
const ApprovalStatement = Type.Object({
  statement: Type.String({ description: 'The text to sign: canonical JSON (RFC 8785), UTF-8' }),
  hash: sha256Hash,
  ssh: nullable(Type.Object({ namespace: Type.String({ description: 'For ssh-keygen -Y sign -n' }) })),
  passkey: nullable(
    Type.Object(
      {
        challenge: Type.String({ description: 'SHA-256 of the statement, base64url' }),
        rpId: Type.String(),
        allowCredentials: Type.Array(Type.Object({ type: Type.Literal('public-key'), id: Type.String() })),
        userVerification: Type.Literal('required'),
        timeout: Type.Integer(),
      },
      {
        description:
          'As navigator.credentials.get takes it, after PublicKeyCredential.parseRequestOptionsFromJSON',
      },
    ),
  ),
});

const comment = Type.Optional(Type.String({ maxLength: limits.reasonChars }));

const signature = exact({
  approverId: serviceId('apv'),
  ssh: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.sshSignatureChars,
      description: 'What ssh-keygen -Y sign writes: -----BEGIN SSH SIGNATURE----- …',
    }),
  ),
  passkey: Type.Optional(
    exact({
      clientDataJSON: base64url(limits.passkeyClientDataBytes, 'response.clientDataJSON'),
      authenticatorData: base64url(limits.passkeyAuthenticatorBytes, 'response.authenticatorData'),
      signature: base64url(limits.passkeySignatureBytes, 'response.signature'),
    }),
  ),
});
export type ApprovalSignature = Static<typeof signature>;

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
      ...paging,
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
  awaitApproval: operation({
    ...extension,
    method: 'GET',
    path: '/approvals/{approvalId}/standing',
    scope: 'tools:evaluate',
    summary: 'Wait for the decision on an approval that the caller asked for',
    params,
    query: exact({
      waitSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: limits.holdWaitSeconds })),
    }),
    success: {
      200: Type.Object({
        approvalId: serviceId('apr'),
        status: oneOf(approvalStatuses),
        expiresAt: timestamp('When the request expires'),
      }),
    },
    statuses: [400, 401, 404, 500],
  }),
  stateApproval: operation({
    ...extension,
    method: 'POST',
    path: '/approvals/{approvalId}/statement',
    scope: 'approvals:decide',
    summary: 'Get the statement that an approver signs to decide an approval',
    params,
    body: exact({ outcome: oneOf(approvalOutcomes), approverId: serviceId('apv'), comment }),
    success: { 200: ApprovalStatement },
    statuses: [400, 401, 403, 404, 409, 500],
  }),
  decideApproval: operation({
    ...extension,
    method: 'POST',
    path: '/approvals/{approvalId}/decision',
    scope: 'approvals:decide',
    summary: 'Approve or deny an action that a policy escalated',
    params,
    body: exact({ outcome: oneOf(approvalOutcomes), comment, signature: Type.Optional(signature) }),
    success: { 200: Approval },
    statuses: [400, 401, 403, 404, 409, 500],
  }),
} as const;

/**
 * Approvers: keys with which people sign approvals (contract O13). An approver is a passkey (WebAuthn) or an SSH key,
 * and belongs to one principal: an API key or a person. Enrolment and revocation are leaves of the log.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { resource } from './resource.ts';
import { exact, nullable, oneOf, paging, serviceId, timestamp } from './shapes.ts';
import { namePattern } from './text-patterns.ts';

const extension = { tag: 'Governance', stability: 'beta', origin: 'extension' } as const;

export const approverKinds = ['passkey', 'ssh'] as const;
export type ApproverKind = (typeof approverKinds)[number];
const approverStatuses = ['active', 'revoked'] as const;

export const base64url = (bytes: number, description: string) =>
  Type.String({
    pattern: '^[A-Za-z0-9_-]+$',
    minLength: 1,
    maxLength: Math.ceil((bytes * 4) / 3),
    description: `${description}, base64url`,
  });

const Passkey = Type.Object({
  credentialId: Type.String({ description: 'Id of the credential, base64url' }),
  origin: Type.String({ description: 'The page that enrolled it; only pages of this origin can sign' }),
  rpId: Type.String({ description: 'Relying party: the host of the origin, or a parent domain' }),
});

const Approver = Type.Object({
  approverId: serviceId('apv'),
  kind: oneOf(approverKinds),
  name: Type.String(),
  principal: Type.String({ description: 'The API key or person that signs with it' }),
  publicKey: Type.String({
    description: 'Of an SSH key: one line as in authorized_keys. Of a passkey: SubjectPublicKeyInfo, base64',
  }),
  fingerprint: Type.String({
    description: 'SHA256: and base64, as ssh-keygen -l prints it; of a passkey over its publicKey',
  }),
  passkey: nullable(Passkey),
  status: oneOf(approverStatuses),
  enrolledAt: timestamp('When it was enrolled'),
  enrolledBy: Type.String({ description: 'The API key or person that enrolled it' }),
  revokedAt: nullable(timestamp('When it was revoked')),
  revokedBy: nullable(Type.String()),
  sequence: Type.Integer({
    minimum: 0,
    description: 'Index of the leaf of its enrolment. It signs only approvals that were asked for later',
  }),
});
export type Approver = Static<typeof Approver>;

const name = Type.String({
  minLength: 1,
  maxLength: limits.approverNameChars,
  pattern: namePattern,
  description: 'Name of the person or device, such as "Ada, laptop"',
});
const principal = Type.Optional(
  Type.String({
    pattern: '^(?:key|usr)_[0-7][0-9a-hjkmnp-tv-z]{25}$',
    description: 'Default: the caller. Another principal, and a second approver, need scope keys:write',
  }),
);

/** As `navigator.credentials.create` takes it, after `PublicKeyCredential.parseCreationOptionsFromJSON`. */
const RegistrationOptions = Type.Object({
  challenge: Type.String({
    description: `Valid for ${limits.approverChallengeMinutes} minutes, for this caller`,
  }),
  rp: Type.Object({ id: Type.String(), name: Type.String() }),
  user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
  pubKeyCredParams: Type.Array(Type.Object({ type: Type.Literal('public-key'), alg: Type.Integer() })),
  timeout: Type.Integer(),
  attestation: Type.Literal('none'),
  authenticatorSelection: Type.Object({
    residentKey: Type.Literal('preferred'),
    userVerification: Type.Literal('required'),
  }),
  excludeCredentials: Type.Array(Type.Object({ type: Type.Literal('public-key'), id: Type.String() })),
});

const origin = Type.String({
  maxLength: limits.approverOriginChars,
  pattern: '^https?://[^/?#@]+$',
  description: 'window.location.origin of the page: https, or http on localhost',
});

const params = exact({ approverId: serviceId('apv') });
const approver = resource({
  ...extension,
  path: '/approvers',
  params,
  item: Approver,
  reads: 'governance:read',
  writes: 'approvals:decide',
});

export const approvers = {
  listApprovers: approver.list({
    command: 'approvers list',
    summary: 'List approvers, newest first',
    query: exact({
      status: Type.Optional(oneOf(approverStatuses)),
      ...paging,
    }),
    statuses: [400, 401, 500],
  }),
  getApprover: approver.get({
    command: 'approvers show',
    summary: 'Get one approver',
    statuses: [401, 404, 500],
  }),
  challengeApprover: operation({
    ...extension,
    method: 'POST',
    path: '/approvers/challenge',
    scope: 'approvals:decide',
    summary: 'Get the options with which a browser creates a passkey to enrol',
    body: exact({
      name,
      origin,
      rpId: Type.Optional(
        Type.String({
          maxLength: limits.approverOriginChars,
          pattern: '^[a-z0-9.-]+$',
          description: 'Default: the host of the origin',
        }),
      ),
    }),
    success: { 200: RegistrationOptions },
    statuses: [400, 401, 500],
  }),
  enrolApprover: approver.create({
    summary: 'Enrol a passkey or an SSH key that signs approvals',
    body: exact({
      name,
      principal,
      ssh: Type.Optional(
        exact({
          publicKey: Type.String({
            minLength: 1,
            maxLength: limits.sshPublicKeyChars,
            description:
              'One line as in a .pub file: ssh-ed25519, ecdsa-sha2-nistp256, -nistp384 or -nistp521, ssh-rsa of 2048 bits or more, sk-ssh-ed25519@openssh.com or sk-ecdsa-sha2-nistp256@openssh.com',
          }),
        }),
      ),
      passkey: Type.Optional(
        exact({
          id: base64url(limits.passkeyIdBytes, 'Id of the credential'),
          clientDataJSON: base64url(limits.passkeyClientDataBytes, 'response.clientDataJSON'),
          authenticatorData: base64url(limits.passkeyAuthenticatorBytes, 'response.getAuthenticatorData()'),
          publicKey: base64url(limits.passkeyKeyBytes, 'response.getPublicKey()'),
        }),
      ),
    }),
    statuses: [400, 401, 403, 409, 500],
  }),
  revokeApprover: approver.delete({
    command: 'approvers revoke',
    summary: 'Revoke an approver: it signs no approval from now on',
    success: { 200: Approver },
    statuses: [401, 403, 404, 500],
  }),
} as const;

/** Data planes of a project: how they are registered, enrolled, listed, rotated and revoked (contract B9). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { displayName } from './auth.ts';
import { environments } from './auth-words.ts';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import {
  cursorQuery,
  exact,
  limitQuery,
  nullable,
  oneOf,
  page,
  serviceId,
  sha256Hash,
  timestamp,
} from './shapes.ts';
import {
  count,
  counts,
  note,
  origin,
  base64Key,
  dataPlaneId,
  reportId,
  treeHash,
  attestationStatuses,
} from './telemetry-parts.ts';

export const planeStatuses = ['pending', 'active', 'revoked'] as const;
const DataPlane = Type.Object({
  dataPlaneId,
  name: Type.String(),
  environment: oneOf(environments),
  status: oneOf(planeStatuses),
  createdAt: timestamp('When it was registered'),
  createdBy: Type.String({ description: 'Key or user that registered it' }),
  enrolledAt: nullable(timestamp('When it got its credentials')),
  revokedAt: nullable(timestamp('When it was revoked')),
  origin: nullable(Type.String({ description: 'Of its metering log, without the epoch' })),
  auditOrigin: nullable(Type.String()),
  verifierKey: nullable(Type.String({ description: 'Of its metering log, Ed25519' })),
  auditVerifierKey: nullable(Type.String({ description: 'Of its audit log, Ed25519' })),
  formerKeys: Type.Array(
    Type.Object({
      verifierKey: Type.String(),
      auditVerifierKey: Type.String(),
      until: timestamp('When it enrolled with others'),
    }),
    { description: 'Keys that it had before, the oldest first: reports of their time are signed by them' },
  ),
  keyPrefix: nullable(Type.String()),
  keyLast4: nullable(Type.String()),
  previousValidUntil: nullable(timestamp('Until when the credentials before still work')),
  lastReport: nullable(
    Type.Object({
      reportId,
      epoch: count(),
      sequence: count(),
      receivedAt: timestamp('When it came'),
      treeSize: count(),
      attestation: oneOf(attestationStatuses),
    }),
  ),
  challengesExpired: count('Challenges that it did not answer in time'),
  missing: count('Reports of the newest epoch that are missing before the newest one'),
});
export type DataPlane = Static<typeof DataPlane>;

const ReportRecord = Type.Object({
  reportId,
  epoch: count(),
  sequence: count(),
  periodStart: timestamp(''),
  periodEnd: timestamp(''),
  operations: counts,
  totals: counts,
  treeSize: count(),
  receivedAt: timestamp('When it came'),
  reportHash: sha256Hash,
  linked: oneOf(['unknown', 'linked', 'broken']),
  attestation: oneOf(attestationStatuses),
});
export type ReportRecord = Static<typeof ReportRecord>;

const PlaneCredentials = Type.Object({
  dataPlaneId,
  key: Type.String({ pattern: '^gov_hyb_[0-9A-Za-z]{38}$', description: 'Shown this once' }),
  signingSecret: Type.String({ pattern: '^whsec_[A-Za-z0-9+/]{43}=$', description: 'Shown this once' }),
  previousValidUntil: nullable(timestamp('Until when the credentials before still work')),
});

const EnrolmentToken = Type.Object({
  dataPlane: DataPlane,
  enrolmentToken: Type.String({ pattern: '^gov_enr_[0-9A-Za-z]{38}$', description: 'Shown this once' }),
  expiresAt: timestamp('Until when it can be exchanged'),
});

const newestReport = {
  epoch: count('Of the report; the one that was asked for, or 0, where none is held'),
  nextSequence: count('The first one of the epoch that is not held yet'),
  report: nullable(
    Type.String({ description: 'The exact bytes of the report with the greatest sequence of the epoch' }),
  ),
  cosignature: Type.String({
    description:
      'Signature line of the service for its checkpoint; empty where reports before it are missing',
  }),
};
export const NewestReport = Type.Object(newestReport);
export type NewestReport = Static<typeof NewestReport>;

const Enrolled = Type.Object({
  ...PlaneCredentials.properties,
  projectId: serviceId('prj'),
  environment: oneOf(environments),
  cosignerKey: Type.String({ description: 'Verifier key of the service, which cosigns checkpoints' }),
  configKey: Type.String({ description: 'Verifier key of the service, which signs configurations' }),
  reportIntervalSeconds: count('How often the service would like a report'),
  serverTime: timestamp('Now, at the service'),
});
export type Enrolled = Static<typeof Enrolled>;

const identity = {
  origin: origin('Of the metering log, without the epoch'),
  auditOrigin: origin('Of the audit log'),
  verifierKey: base64Key('Of the metering log at epoch 0 (C2SP vkey, Ed25519)'),
  auditVerifierKey: base64Key('Of the audit log (C2SP vkey, Ed25519)'),
};

/** What a data plane asks by file; it has neither the token nor a secret in it (`src/core/plane/enrolment-request.ts`). */
export const EnrolmentRequest = exact({
  schemaVersion: Type.Literal('gov.enrolrequest/1'),
  ...identity,
  sealTo: Type.String({
    ...treeHash,
    description: 'X25519 key of this request alone, to which the credentials are sealed',
  }),
  possession: note(
    'Note over gov.enrolrequest/1, HMAC-SHA-256 of all other members by SHA-256 of the token, in hex, and the origin, ' +
      'signed by the verifier key',
  ),
});
export type EnrolmentRequest = Static<typeof EnrolmentRequest>;

/** Its answer, which nobody but that data plane can open. */
export const EnrolmentAnswer = exact({
  schemaVersion: Type.Literal('gov.enrolanswer/1'),
  dataPlaneId,
  projectId: serviceId('prj'),
  environment: oneOf(environments),
  cosignerKey: base64Key('Verifier key of the service, which cosigns checkpoints'),
  configKey: base64Key('Verifier key of the service, which signs configurations'),
  reportIntervalSeconds: count('How often the service would like a report'),
  serverTime: timestamp('When it was answered'),
  newest: exact(newestReport),
  sealTo: Type.String({ ...treeHash, description: 'Of the request' }),
  enc: Type.String({ ...treeHash, description: 'Encapsulated key of HPKE (RFC 9180)' }),
  sealed: Type.String({
    pattern: '^[A-Za-z0-9+/]+={0,2}$',
    maxLength: limits.sealedCredentialsChars,
    description: 'Hybrid key and signing secret, for the data plane alone',
  }),
});
export type EnrolmentAnswer = Static<typeof EnrolmentAnswer>;

const extension = { tag: 'Hybrid Telemetry', stability: 'beta', origin: 'extension' } as const;
const managed = { scope: 'telemetry:manage' } as const;
const planeParams = exact({ dataPlaneId });

export const dataPlanes = {
  createDataPlane: operation({
    ...extension,
    ...managed,
    method: 'POST',
    path: '/telemetry/planes',
    summary: 'Register a data plane; its one-time enrolment token is shown this once',
    body: exact({ name: displayName(limits.planeNameChars, 'What people call it') }),
    success: { 201: EnrolmentToken },
    statuses: [400, 401, 403, 409, 429, 500],
  }),
  listDataPlanes: operation({
    ...extension,
    ...managed,
    method: 'GET',
    path: '/telemetry/planes',
    command: 'planes list',
    summary: 'List the data planes of the project, newest first',
    query: exact({ cursor: cursorQuery, limit: limitQuery(limits.pageDefault, limits.pageMax) }),
    success: { 200: page(DataPlane) },
    statuses: [400, 401, 403, 500],
  }),
  getDataPlane: operation({
    ...extension,
    ...managed,
    method: 'GET',
    path: '/telemetry/planes/{dataPlaneId}',
    command: 'planes show',
    summary: 'Show a data plane',
    params: planeParams,
    success: { 200: DataPlane },
    statuses: [401, 403, 404, 500],
  }),
  issueEnrolmentToken: operation({
    ...extension,
    ...managed,
    method: 'POST',
    path: '/telemetry/planes/{dataPlaneId}/token',
    summary:
      'Give a data plane another one-time enrolment token, shown this once: for new keys, or to reinstate it',
    params: planeParams,
    success: { 201: EnrolmentToken },
    statuses: [401, 403, 404, 429, 500],
  }),
  revokeDataPlane: operation({
    ...extension,
    ...managed,
    method: 'DELETE',
    path: '/telemetry/planes/{dataPlaneId}',
    summary: 'Revoke a data plane: its credentials end, what it reported stays',
    params: planeParams,
    success: { 204: { empty: true } },
    statuses: [401, 403, 404, 500],
  }),
  listUsageReports: operation({
    ...extension,
    ...managed,
    method: 'GET',
    path: '/telemetry/planes/{dataPlaneId}/reports',
    command: 'planes reports',
    summary: 'List the usage reports of a data plane, newest first',
    params: planeParams,
    query: exact({ cursor: cursorQuery, limit: limitQuery(limits.pageDefault, limits.pageMax) }),
    success: { 200: page(ReportRecord) },
    statuses: [400, 401, 403, 404, 500],
  }),
  enrollDataPlane: operation({
    ...extension,
    access: 'anyone',
    scope: null,
    method: 'POST',
    path: '/telemetry/planes/enroll',
    summary: 'Exchange an enrolment token and the plane’s verifier keys for its credentials',
    body: exact({
      token: Type.String({ maxLength: limits.tokenChars, description: 'One-time enrolment token' }),
      ...identity,
      possession: note(
        'Note over gov.enrol/v1, SHA-256 of the token in hex and the origin, signed by the verifier key',
      ),
    }),
    success: { 201: Enrolled },
    statuses: [400, 401, 409, 429, 500],
  }),
  enrollDataPlaneByFile: operation({
    ...extension,
    ...managed,
    method: 'POST',
    path: '/telemetry/planes/{dataPlaneId}/enroll',
    summary:
      'Answer the enrolment request that a data plane wrote to a file; its credentials are sealed, for it alone',
    params: planeParams,
    body: EnrolmentRequest,
    success: { 201: EnrolmentAnswer },
    statuses: [400, 401, 403, 404, 409, 429, 500],
  }),
  getCosigner: operation({
    ...extension,
    access: 'anyone',
    scope: null,
    method: 'GET',
    path: '/telemetry/cosigner',
    summary: 'The verifier key of the service, by which anybody checks the receipts that data planes have',
    success: {
      200: Type.Object({ cosignerKey: base64Key('Of cosignatures (C2SP vkey, Ed25519 cosignature)') }),
    },
    statuses: [500],
  }),
  newestReport: operation({
    ...extension,
    access: 'plane',
    scope: 'telemetry:write',
    signed: true,
    method: 'GET',
    path: '/telemetry/reports/newest',
    summary:
      'Show the calling data plane the newest report of it that is held, of an epoch or of the newest one',
    query: exact({
      epoch: Type.Optional(
        Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Default: the newest' }),
      ),
    }),
    success: { 200: NewestReport },
    statuses: [400, 401, 500],
  }),
  rotatePlaneCredentials: operation({
    ...extension,
    access: 'plane',
    scope: 'telemetry:manage',
    signed: true,
    method: 'POST',
    path: '/telemetry/credentials/rotate',
    summary: 'Give the calling data plane a new key and secret; the ones before work for a while',
    body: exact({
      overlapSeconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: limits.planeOverlapSeconds,
          description: `Default ${limits.planeOverlapSeconds}`,
        }),
      ),
    }),
    success: { 201: PlaneCredentials },
    statuses: [400, 401, 500],
  }),
} as const;

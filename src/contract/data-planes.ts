/** Data planes of a project: registration, enrolment, listing, rotation, revocation (contract B9). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { displayName } from './auth.ts';
import { environments } from './auth-words.ts';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { resource } from './resource.ts';
import { exact, nullable, oneOf, page, pageQuery, serviceId, sha256Hash, timestamp } from './shapes.ts';
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

const planeStatuses = ['pending', 'active', 'revoked'] as const;
const DataPlane = Type.Object({
  dataPlaneId,
  name: Type.String(),
  environment: oneOf(environments),
  status: oneOf(planeStatuses),
  createdAt: timestamp('When it was registered'),
  createdBy: Type.String({ description: 'Key or user that registered it' }),
  enrolledAt: nullable(timestamp('When it received its credentials')),
  revokedAt: nullable(timestamp('When it was revoked')),
  origin: nullable(Type.String({ description: 'Origin of its metering log, without the epoch' })),
  auditOrigin: nullable(Type.String()),
  verifierKey: nullable(Type.String({ description: 'Verifier key of its metering log, Ed25519' })),
  auditVerifierKey: nullable(Type.String({ description: 'Verifier key of its audit log, Ed25519' })),
  formerKeys: Type.Array(
    Type.Object({
      verifierKey: Type.String(),
      auditVerifierKey: Type.String(),
      until: timestamp('When it enrolled with new keys'),
    }),
    { description: 'Its earlier keys, oldest first, which sign the reports of their time' },
  ),
  keyPrefix: nullable(Type.String()),
  keyLast4: nullable(Type.String()),
  previousValidUntil: nullable(timestamp('When the previous credentials stop working')),
  lastReport: nullable(
    Type.Object({
      reportId,
      epoch: count(),
      sequence: count(),
      receivedAt: timestamp('When the service received it'),
      treeSize: count(),
      attestation: oneOf(attestationStatuses),
    }),
  ),
  challengesExpired: count('Challenges that it did not answer in time'),
  missing: count('Missing reports of the newest epoch before the newest report'),
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
  auditCheckpoint: note('Checkpoint of the audit log, signed by the data plane'),
  receivedAt: timestamp('When the service received it'),
  reportHash: sha256Hash,
  linked: oneOf(['unknown', 'linked', 'broken']),
  attestation: oneOf(attestationStatuses),
});
export type ReportRecord = Static<typeof ReportRecord>;

const PlaneCredentials = Type.Object({
  dataPlaneId,
  key: Type.String({ pattern: '^gov_hyb_[0-9A-Za-z]{38}$', description: 'Returned only this once' }),
  signingSecret: Type.String({
    pattern: '^whsec_[A-Za-z0-9+/]{43}=$',
    description: 'Returned only this once',
  }),
  previousValidUntil: nullable(timestamp('When the previous credentials stop working')),
});

const EnrolmentToken = Type.Object({
  dataPlane: DataPlane,
  enrolmentToken: Type.String({
    pattern: '^gov_enr_[0-9A-Za-z]{38}$',
    description: 'Returned only this once',
  }),
  expiresAt: timestamp('When the token expires'),
});

const newestReport = {
  epoch: count('Epoch of the report; without a report: the requested epoch, or 0'),
  nextSequence: count('The first sequence of the epoch that the service does not have yet'),
  report: nullable(
    Type.String({ description: 'Exact bytes of the report with the greatest sequence of the epoch' }),
  ),
  cosignature: Type.String({
    description: 'Signature line of the service for its checkpoint; empty if earlier reports are missing',
  }),
};
export const NewestReport = Type.Object(newestReport);
export type NewestReport = Static<typeof NewestReport>;

const Enrollment = Type.Object({
  ...PlaneCredentials.properties,
  projectId: serviceId('prj'),
  environment: oneOf(environments),
  cosignerKey: Type.String({ description: 'Verifier key of the service for cosignatures of checkpoints' }),
  configKey: Type.String({ description: 'Verifier key of the service for plane configurations' }),
  reportIntervalSeconds: count('Interval of reports that the service requests'),
  serverTime: timestamp('Time of the service'),
});
export type Enrollment = Static<typeof Enrollment>;

const identity = {
  origin: origin('Origin of the metering log, without the epoch'),
  auditOrigin: origin('Origin of the audit log'),
  verifierKey: base64Key('Verifier key of the metering log at epoch 0 (C2SP vkey, Ed25519)'),
  auditVerifierKey: base64Key('Verifier key of the audit log (C2SP vkey, Ed25519)'),
};

/** An enrolment request in a file, without token or secret (`src/core/planes/enrolment-request.ts`). */
export const EnrolmentRequest = exact({
  schemaVersion: Type.Literal('gov.enrolrequest/1'),
  ...identity,
  sealTo: Type.String({
    ...treeHash,
    description: 'X25519 key of this request only; the service seals the credentials to it',
  }),
  possession: note(
    'Note over gov.enrolrequest/1, HMAC-SHA-256 of all other members with SHA-256 of the token as key, in hex, and the ' +
      'origin, signed by the verifier key',
  ),
});
export type EnrolmentRequest = Static<typeof EnrolmentRequest>;

/** The answer to an enrolment request; only the data plane of the request can open it. */
export const EnrolmentAnswer = exact({
  schemaVersion: Type.Literal('gov.enrolanswer/1'),
  dataPlaneId,
  projectId: serviceId('prj'),
  environment: oneOf(environments),
  cosignerKey: base64Key('Verifier key of the service for cosignatures of checkpoints'),
  configKey: base64Key('Verifier key of the service for plane configurations'),
  reportIntervalSeconds: count('Interval of reports that the service requests'),
  serverTime: timestamp('When it was answered'),
  newest: exact(newestReport),
  sealTo: Type.String({ ...treeHash, description: 'sealTo of the request' }),
  enc: Type.String({ ...treeHash, description: 'Encapsulated key of HPKE (RFC 9180)' }),
  sealed: Type.String({
    pattern: '^[A-Za-z0-9+/]+={0,2}$',
    maxLength: limits.sealedCredentialsChars,
    description: 'Hybrid key and signing secret, sealed for the data plane',
  }),
});
export type EnrolmentAnswer = Static<typeof EnrolmentAnswer>;

const extension = { tag: 'Hybrid Telemetry', stability: 'beta', origin: 'extension' } as const;
const managed = { scope: 'telemetry:manage' } as const;
const planeParams = exact({ dataPlaneId });
const plane = resource({
  ...extension,
  path: '/telemetry/planes',
  params: planeParams,
  item: DataPlane,
  reads: 'telemetry:manage',
  writes: 'telemetry:manage',
});

export const dataPlanes = {
  createDataPlane: plane.create({
    summary: 'Register a data plane; only this response contains its one-time enrolment token',
    body: exact({ name: displayName(limits.planeNameChars, 'Name for people') }),
    success: { 201: EnrolmentToken },
    statuses: [400, 401, 403, 409, 429, 500],
  }),
  listDataPlanes: plane.list({
    command: 'planes list',
    summary: 'List the data planes of the project, newest first',
    statuses: [400, 401, 403, 500],
  }),
  getDataPlane: plane.get({
    command: 'planes show',
    summary: 'Get a data plane',
    statuses: [401, 403, 404, 500],
  }),
  issueEnrolmentToken: operation({
    ...extension,
    ...managed,
    method: 'POST',
    path: '/telemetry/planes/{dataPlaneId}/token',
    summary:
      'Issue another one-time enrolment token, for new keys or to reinstate a data plane; only this response contains it',
    params: planeParams,
    success: { 201: EnrolmentToken },
    statuses: [401, 403, 404, 429, 500],
  }),
  revokeDataPlane: plane.delete({
    summary: 'Revoke a data plane: its credentials stop working, its reports remain',
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
    query: pageQuery,
    success: { 200: page(ReportRecord) },
    statuses: [400, 401, 403, 404, 500],
  }),
  enrollDataPlane: operation({
    ...extension,
    access: 'anyone',
    scope: null,
    method: 'POST',
    path: '/telemetry/planes/enroll',
    summary: 'Exchange an enrolment token and the verifier keys of a data plane for its credentials',
    body: exact({
      token: Type.String({ maxLength: limits.tokenChars, description: 'One-time enrolment token' }),
      ...identity,
      possession: note(
        'Note over gov.enrol/v1, SHA-256 of the token in hex and the origin, signed by the verifier key',
      ),
    }),
    success: { 201: Enrollment },
    statuses: [400, 401, 409, 429, 500],
  }),
  enrollDataPlaneByFile: operation({
    ...extension,
    ...managed,
    method: 'POST',
    path: '/telemetry/planes/{dataPlaneId}/enroll',
    summary:
      'Answer the enrolment request that a data plane wrote to a file; only that plane can open the sealed credentials',
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
    summary: 'Get the verifier key of the service, which checks the receipts of data planes',
    success: {
      200: Type.Object({
        cosignerKey: base64Key('Verifier key of cosignatures (C2SP vkey, Ed25519 cosignature)'),
      }),
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
    summary: 'Get the newest stored report of the calling data plane, of one epoch or of the newest epoch',
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
    summary:
      'Give the calling data plane a new key and secret; the previous ones keep working during an overlap',
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

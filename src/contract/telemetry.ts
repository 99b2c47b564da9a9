/**
 * Usage reports of data planes that customers host, and their attestation (contract B9-B13, J1-J8).
 * A data plane reports counts with proof and answers challenges about them. No schema here has a member for content.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { environments } from './auth-words.ts';
import { dataPlanes, NewestReport } from './data-planes.ts';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { exact, nullable, oneOf, serviceId, sha256Hash, timestamp } from './shapes.ts';
import {
  count,
  counts,
  treeHash,
  path,
  record,
  note,
  origin,
  dataPlaneId,
  reportId,
  challengeId,
  provenLeaf,
  attestationStatuses,
} from './telemetry-parts.ts';

export {
  type DataPlane,
  type Enrollment,
  EnrolmentAnswer,
  EnrolmentRequest,
  type NewestReport,
  type ReportRecord,
} from './data-planes.ts';

export const usageSchema = 'gov.usage/1';
export const attestSchema = 'gov.attest/1';

export const UsageReport = exact({
  schemaVersion: Type.Literal(usageSchema),
  reportId,
  dataPlaneId,
  projectId: serviceId('prj'),
  environment: oneOf(environments),
  sequence: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Without gaps in an epoch, from 1',
  }),
  periodStart: timestamp('periodEnd of the previous report'),
  periodEnd: timestamp('The report counts leaves up to this time'),
  operations: counts,
  totals: counts,
  unmetered: count('Leaves of the period that are not metered'),
  log: exact({
    origin: origin('Origin of the metering log'),
    epoch: count('Incremented when the log restarts after a restored backup'),
    fromSize: count('treeSize of the previous report'),
    treeSize: count(),
    checkpoint: note('Checkpoint of the metering log at treeSize, signed by the plane'),
    consistency: path,
  }),
  lastLeaf: nullable(provenLeaf),
  auditLog: exact({
    treeSize: count(),
    checkpoint: note('Checkpoint of the audit log at the size that the last leaf covers'),
  }),
  previousReportHash: nullable(sha256Hash),
  runtime: exact({
    planeVersion: Type.String({ maxLength: limits.versionChars }),
    nodeVersion: Type.String({ maxLength: limits.versionChars }),
    buildDigest: Type.Optional(sha256Hash),
  }),
  sentAt: timestamp('When the report was made'),
});
export type UsageReport = Static<typeof UsageReport>;

export const Challenge = Type.Object({
  challengeId,
  reportId,
  dataPlaneId,
  origin: Type.String(),
  epoch: count(),
  treeSize: count(),
  rootHash: treeHash,
  seed: Type.String({
    pattern: '^[0-9a-f]{64}$',
    description: '32 random bytes, drawn after the report was stored',
  }),
  sampleSize: count('Sampled units in addition to the first and the last unit of the range'),
  unitRange: Type.Object({ from: count('Exclusive'), to: count('Inclusive') }),
  consistencySizes: Type.Array(count(), { maxItems: limits.attestationConsistencySizes }),
  auditTreeSize: count(),
  crossSampleSize: count(),
  issuedAt: timestamp('When it was drawn'),
  expiresAt: timestamp('When the challenge expires'),
});
export type Challenge = Static<typeof Challenge>;

const attestationSamples = limits.attestationSamples + 2;
export const AttestationProof = exact({
  schemaVersion: Type.Literal(attestSchema),
  challengeId,
  reportId,
  dataPlaneId,
  log: exact({
    origin: origin('As reported'),
    epoch: count(),
    treeSize: count(),
    checkpoint: note('As reported'),
  }),
  samples: Type.Array(
    exact({
      unit: count('Number of the unit, counted over all types since the epoch began'),
      index: count('Index of the first leaf whose totals reach the unit'),
      record: record('JCS of that leaf'),
      inclusion: path,
      previous: Type.Optional(exact({ record: record('JCS of the previous leaf'), inclusion: path })),
    }),
    { maxItems: attestationSamples },
  ),
  consistency: Type.Array(exact({ fromSize: count(), toSize: count(), path }), {
    maxItems: limits.attestationConsistencySizes,
  }),
  cross: Type.Array(
    exact({
      auditIndex: count(),
      auditLeafHash: treeHash,
      auditInclusion: path,
      meterIndex: count(),
      meterRecord: record('JCS of the metering leaf that covers it'),
      meterInclusion: path,
      refNonce: Type.String({ pattern: '^[A-Za-z0-9_-]{22}$', description: '16 bytes, base64url' }),
      firstAuditIndex: count(),
      count: Type.Integer({ minimum: 1, maximum: limits.meterLeafCount }),
      batchInclusion: path,
    }),
    { maxItems: limits.attestationCrossSamples },
  ),
  generatedAt: timestamp('When the answer was made'),
  signature: note('Note over the answer, signed by the Ed25519 key of the plane'),
});
export type AttestationProof = Static<typeof AttestationProof>;

/** Reasons why an attestation or a usage report does not verify (contract J7). */
export const telemetryFaults = [
  'challenge_expired',
  'already_answered',
  'sample_set_mismatch',
  'checkpoint_signature_invalid',
  'origin_mismatch',
  'inclusion_invalid',
  'consistency_invalid',
  'totals_not_monotonic',
  'totals_sum_mismatch',
  'op_type_invalid',
  'cross_reference_invalid',
  'history_regressed',
] as const;
export type TelemetryFault = (typeof telemetryFaults)[number];

const UsageResult = Type.Object({
  reportId,
  status: oneOf(['accepted', 'duplicate']),
  receivedAt: timestamp('When it was stored'),
  sequence: count(),
  nextSequence: count('The first sequence that the service does not have yet'),
  acceptedTreeSize: count('The largest size accepted in this epoch'),
  cosignature: Type.String({
    description: 'Signature line of the service for the reported checkpoint (C2SP tlog-cosignature)',
  }),
  attestation: Type.Object({
    status: oneOf(attestationStatuses),
    challengeId: Type.Optional(challengeId),
    challenge: Type.Optional(Challenge),
  }),
  quota: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object({
        used: count(),
        limit: nullable(count()),
        resetAt: timestamp('When the next month begins'),
      }),
      { description: 'By metered type' },
    ),
  ),
  serverTime: timestamp('Time of the service'),
});
export type UsageResult = Static<typeof UsageResult>;

const AttestationAnswer = Type.Object({
  challengeId,
  reportId,
  status: Type.Literal('verified'),
  verifiedAt: timestamp('When it was verified'),
  checks: Type.Array(Type.Object({ name: Type.String(), passed: Type.Boolean(), count: count() })),
  sampled: count('Distinct sampled units'),
  detection: Type.Array(Type.Object({ badFraction: Type.Number(), probability: Type.Number() }), {
    description: 'Probability that the sample finds wrong labels of this share f among k units: 1-(1-f)^k',
  }),
  cosignature: Type.String(),
});
export type AttestationAnswer = Static<typeof AttestationAnswer>;

/** A signed message of a data plane in a file, as it would be sent over HTTP. */
const Message = exact({
  kind: oneOf(['usage', 'attestation']),
  challengeId: Type.Optional(challengeId),
  dataPlaneId,
  timestamp: Type.String({ pattern: '^[0-9]{10}$' }),
  signature: Type.String({ maxLength: limits.signatureHeaderChars }),
  body: Type.String({ maxLength: limits.attestationBytes, description: 'The exact bytes' }),
});
export type Message = Static<typeof Message>;

const Receipt = Type.Object({
  kind: oneOf(['usage', 'attestation']),
  id: Type.String({ description: 'reportId or challengeId' }),
  status: Type.Integer({ description: 'The HTTP status of the response to the message' }),
  answer: Type.Unknown({ description: 'The body of the response' }),
  newest: Type.Optional(
    Type.Object(NewestReport.properties, {
      description:
        'The newest report of the data plane, if the service refused this one because of it. The plane continues after that report',
    }),
  ),
});
export type Receipt = Static<typeof Receipt>;

const specified = { tag: 'Hybrid Telemetry', stability: 'stable', origin: 'specification' } as const;
const extension = { tag: 'Hybrid Telemetry', stability: 'beta', origin: 'extension' } as const;
const fromPlane = { access: 'plane', scope: 'telemetry:write', signed: true } as const;
const managed = { scope: 'telemetry:manage' } as const;

export const telemetry = {
  reportUsage: operation({
    ...specified,
    ...fromPlane,
    method: 'POST',
    path: '/telemetry/usage',
    summary: 'Report metered operations of a data plane, with proof',
    body: UsageReport,
    bodyBytes: limits.usageReportBytes,
    success: { 202: UsageResult },
    statuses: [400, 401, 500],
  }),
  attestUsage: operation({
    ...specified,
    ...fromPlane,
    method: 'POST',
    path: '/telemetry/attestations/{challengeId}',
    summary: 'Answer a challenge about reported operations',
    params: exact({ challengeId }),
    body: AttestationProof,
    bodyBytes: limits.attestationBytes,
    success: { 200: AttestationAnswer },
    statuses: [400, 401, 403, 404, 422, 500],
  }),
  ...dataPlanes,
  importTelemetry: operation({
    ...extension,
    ...managed,
    method: 'POST',
    path: '/telemetry/import',
    summary: 'Import signed messages of data planes from a file, without a limit on their age',
    body: exact({ messages: Type.Array(Message, { minItems: 1, maxItems: limits.importMessages }) }),
    bodyBytes: limits.importTelemetryBytes,
    success: { 200: Type.Object({ receipts: Type.Array(Receipt) }) },
    statuses: [400, 401, 403, 429, 500],
  }),
} as const;

/**
 * Hybrid telemetry (contract B9-B13, J1-J8): a customer-hosted data plane enrols, reports counts
 * that can be verified, and answers challenges about them. No schema here has a member for content.
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
  type Enrolled,
  EnrolmentAnswer,
  EnrolmentRequest,
  type NewestReport,
  planeStatuses,
  type ReportRecord,
} from './data-planes.ts';
export { attestationStatuses } from './telemetry-parts.ts';

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
  periodStart: timestamp('periodEnd of the report before'),
  periodEnd: timestamp('Leaves up to here are counted'),
  operations: counts,
  totals: counts,
  unmetered: count('Leaves of the period that count nothing'),
  log: exact({
    origin: origin('Origin of the metering log'),
    epoch: count('Raised where the log began anew, after a restored backup'),
    fromSize: count('treeSize of the report before'),
    treeSize: count(),
    checkpoint: note('Of the metering log at treeSize, signed by the plane'),
    consistency: path,
  }),
  lastLeaf: nullable(provenLeaf),
  auditLog: exact({ treeSize: count(), checkpoint: note('Of the audit log, at what the last leaf covers') }),
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
  sampleSize: count('Units asked for beside the first and the last one of the range'),
  unitRange: Type.Object({ from: count('Exclusive'), to: count('Inclusive') }),
  consistencySizes: Type.Array(count(), { maxItems: limits.attestationConsistencySizes }),
  auditTreeSize: count(),
  crossSampleSize: count(),
  issuedAt: timestamp('When it was drawn'),
  expiresAt: timestamp('Until when it can be answered'),
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
      unit: count('Which unit, counted over all types since the epoch began'),
      index: count('Of the leaf whose totals first reach it'),
      record: record('JCS of that leaf'),
      inclusion: path,
      previous: Type.Optional(exact({ record: record('JCS of the leaf before'), inclusion: path })),
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
  signature: note('Note over what is answered, signed by the plane’s Ed25519 key'),
});
export type AttestationProof = Static<typeof AttestationProof>;

/** Why an attestation or a report does not verify (contract J7). */
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

const UsageAccepted = Type.Object({
  reportId,
  status: oneOf(['accepted', 'duplicate']),
  receivedAt: timestamp('When it was stored'),
  sequence: count(),
  nextSequence: count('The first one that is not held yet'),
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
  serverTime: timestamp('Now, at the service'),
});
export type UsageAccepted = Static<typeof UsageAccepted>;

const Attested = Type.Object({
  challengeId,
  reportId,
  status: Type.Literal('verified'),
  verifiedAt: timestamp('When it was verified'),
  checks: Type.Array(Type.Object({ name: Type.String(), passed: Type.Boolean(), count: count() })),
  sampled: count('Distinct units that were shown'),
  detection: Type.Array(Type.Object({ badFraction: Type.Number(), probability: Type.Number() }), {
    description: 'How probably wrong labels of this share would have been seen: 1-(1-f)^k',
  }),
  cosignature: Type.String(),
});
export type Attested = Static<typeof Attested>;

/** A signed message as it would have crossed the wire. */
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
  status: Type.Integer({ description: 'The HTTP status that the message would have been answered with' }),
  answer: Type.Unknown({ description: 'Its body' }),
  newest: Type.Optional(
    Type.Object(NewestReport.properties, {
      description:
        'What is held of the data plane, where its report was refused for another one: it cannot ask, and goes on behind that',
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
    success: { 202: UsageAccepted },
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
    success: { 200: Attested },
    statuses: [400, 401, 403, 404, 422, 500],
  }),
  ...dataPlanes,
  importTelemetry: operation({
    ...extension,
    ...managed,
    method: 'POST',
    path: '/telemetry/import',
    summary: 'Take signed messages of data planes that came by file; their time is not bound to now',
    body: exact({ messages: Type.Array(Message, { minItems: 1, maxItems: limits.importMessages }) }),
    bodyBytes: limits.importTelemetryBytes,
    success: { 200: Type.Object({ receipts: Type.Array(Receipt) }) },
    statuses: [400, 401, 403, 429, 500],
  }),
} as const;

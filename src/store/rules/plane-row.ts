/**
 * Rows of data planes, the same in both engines.
 * Proven by `test/store/suite/tenancy/planes.ts`.
 */
import type { FormerKeys } from '../../core/planes/identity.ts';
import { columnsOf, words } from './columns.ts';
import type { MeteredCounts, StoredPlane, StoredReport } from '../port/planes.ts';

export interface PlaneRow {
  project_id: string;
  plane_id: string;
  name: string;
  created_ms: number;
  created_by: string;
  token_digest: Buffer;
  token_expires_ms: number;
  token_used_ms: number | null;
  enrolled_ms: number | null;
  origin: string | null;
  audit_origin: string | null;
  verifier_key: string | null;
  audit_verifier_key: string | null;
  former_keys: string | null;
  key_prefix: string | null;
  key_last4: string | null;
  key_digest: Buffer | null;
  sealed_secret: string | null;
  previous_digest: Buffer | null;
  previous_secret: string | null;
  previous_until_ms: number | null;
  revoked_ms: number | null;
  revision: number;
}

export const planeColumns = columnsOf<Omit<PlaneRow, 'project_id'>>('telemetry_plane', {
  plane_id: 'plane_id',
  name: words('name'),
  created_ms: 'created_ms',
  created_by: 'created_by',
  token_digest: 'token_digest',
  token_expires_ms: 'token_expires_ms',
  token_used_ms: 'token_used_ms',
  enrolled_ms: 'enrolled_ms',
  origin: 'origin',
  audit_origin: 'audit_origin',
  verifier_key: 'verifier_key',
  audit_verifier_key: 'audit_verifier_key',
  former_keys: 'former_keys',
  key_prefix: 'key_prefix',
  key_last4: 'key_last4',
  key_digest: 'key_digest',
  sealed_secret: 'sealed_secret',
  previous_digest: 'previous_digest',
  previous_secret: 'previous_secret',
  previous_until_ms: 'previous_until_ms',
  revoked_ms: 'revoked_ms',
  revision: 'revision',
});

export function planeRow(plane: StoredPlane): Omit<PlaneRow, 'project_id'> {
  const { enrolled } = plane;
  const previous = enrolled?.previous ?? null;
  return {
    plane_id: plane.planeId,
    name: plane.name,
    created_ms: plane.createdMs,
    created_by: plane.createdBy,
    token_digest: plane.tokenDigest,
    token_expires_ms: plane.tokenExpiresMs,
    token_used_ms: plane.tokenUsedMs,
    enrolled_ms: enrolled?.atMs ?? null,
    origin: enrolled?.origin ?? null,
    audit_origin: enrolled?.auditOrigin ?? null,
    verifier_key: enrolled?.verifierKey ?? null,
    audit_verifier_key: enrolled?.auditVerifierKey ?? null,
    former_keys: enrolled === null ? null : formerKeysText(enrolled.formerKeys),
    key_prefix: enrolled?.keyPrefix ?? null,
    key_last4: enrolled?.keyLast4 ?? null,
    key_digest: enrolled?.current.keyDigest ?? null,
    sealed_secret: enrolled?.current.sealedSecret ?? null,
    previous_digest: previous?.keyDigest ?? null,
    previous_secret: previous?.sealedSecret ?? null,
    previous_until_ms: previous?.untilMs ?? null,
    revoked_ms: plane.revokedMs,
    revision: plane.revision,
  };
}

type EnrolledKeys = NonNullable<StoredPlane['enrolled']>;

/** The stored text. `fsck` computes the same text from events. */
export const formerKeysText = (keys: readonly FormerKeys[]): string =>
  JSON.stringify(
    keys.map(({ verifierKey, auditVerifierKey, untilMs }) => ({ verifierKey, auditVerifierKey, untilMs })),
  );

export const planeOf = (row: PlaneRow): StoredPlane => ({
  planeId: row.plane_id,
  projectId: row.project_id,
  name: row.name,
  createdMs: row.created_ms,
  createdBy: row.created_by,
  tokenDigest: row.token_digest,
  tokenExpiresMs: row.token_expires_ms,
  tokenUsedMs: row.token_used_ms,
  enrolled: row.enrolled_ms === null ? null : enrolledOf(row as WithoutNull<PlaneRow>), // a CHECK constraint ensures it
  revokedMs: row.revoked_ms,
  revision: row.revision,
});

type WithoutNull<Row> = { [Name in keyof Row]: NonNullable<Row[Name]> };

const enrolledOf = (row: WithoutNull<PlaneRow>): EnrolledKeys => ({
  atMs: row.enrolled_ms,
  origin: row.origin,
  auditOrigin: row.audit_origin,
  verifierKey: row.verifier_key,
  auditVerifierKey: row.audit_verifier_key,
  formerKeys: JSON.parse(row.former_keys) as FormerKeys[],
  keyPrefix: row.key_prefix,
  keyLast4: row.key_last4,
  current: { keyDigest: row.key_digest, sealedSecret: row.sealed_secret },
  previous: previousOf(row),
});

const previousOf = (row: PlaneRow): EnrolledKeys['previous'] => {
  const { previous_digest: keyDigest, previous_secret: sealedSecret, previous_until_ms: untilMs } = row;
  return keyDigest === null || sealedSecret === null || untilMs === null
    ? null
    : { keyDigest, sealedSecret, untilMs };
};

export interface ReportRow {
  plane_id: string;
  epoch: number;
  sequence: number;
  report_id: string;
  digest: Buffer;
  received_ms: number;
  month: string;
  tree_size: number;
  totals: string;
  link: StoredReport['link'];
  cosignature: string;
  attestation: StoredReport['attestation'];
  challenge_id: string | null;
  challenge: string | null;
  challenge_expires_ms: number | null;
  answer_digest: Buffer | null;
  answer_status: number | null;
  answer: string | null;
  answer_ms: number | null;
  body: string;
}

export const reportColumns = columnsOf<ReportRow>('telemetry_report', {
  plane_id: 'plane_id',
  epoch: 'epoch',
  sequence: 'sequence',
  report_id: 'report_id',
  digest: 'digest',
  received_ms: 'received_ms',
  month: 'month',
  tree_size: 'tree_size',
  totals: 'totals',
  link: 'link',
  cosignature: 'cosignature',
  attestation: 'attestation',
  challenge_id: 'challenge_id',
  challenge: 'challenge',
  challenge_expires_ms: 'challenge_expires_ms',
  answer_digest: 'answer_digest',
  answer_status: 'answer_status',
  answer: 'answer',
  answer_ms: 'answer_ms',
  body: 'body',
});

export function reportRow(report: StoredReport): ReportRow {
  const { challenge, answer } = report;
  return {
    plane_id: report.planeId,
    epoch: report.epoch,
    sequence: report.sequence,
    report_id: report.reportId,
    digest: report.digest,
    received_ms: report.receivedMs,
    month: report.month,
    tree_size: report.treeSize,
    totals: JSON.stringify(report.totals),
    link: report.link,
    cosignature: report.cosignature,
    attestation: report.attestation,
    challenge_id: challenge?.challengeId ?? null,
    challenge: challenge?.text ?? null,
    challenge_expires_ms: challenge?.expiresMs ?? null,
    answer_digest: answer?.digest ?? null,
    answer_status: answer?.status ?? null,
    answer: answer?.result ?? null,
    answer_ms: answer?.atMs ?? null,
    body: report.body,
  };
}

export const reportOf = (row: ReportRow): StoredReport => ({
  planeId: row.plane_id,
  epoch: row.epoch,
  sequence: row.sequence,
  reportId: row.report_id,
  body: row.body,
  digest: row.digest,
  receivedMs: row.received_ms,
  month: row.month,
  treeSize: row.tree_size,
  totals: JSON.parse(row.totals) as MeteredCounts,
  link: row.link,
  cosignature: row.cosignature,
  attestation: row.attestation,
  challenge: challengeOf(row),
  answer: answerOf(row),
});

function challengeOf(row: ReportRow): StoredReport['challenge'] {
  const { challenge_id: challengeId, challenge: text, challenge_expires_ms: expiresMs } = row;
  return challengeId === null || text === null || expiresMs === null
    ? null
    : { challengeId, text, expiresMs };
}

function answerOf(row: ReportRow): StoredReport['answer'] {
  const { answer_digest: digest, answer_status: status, answer: result, answer_ms: atMs } = row;
  return digest === null || status === null || result === null || atMs === null
    ? null
    : { digest, status, result, atMs };
}

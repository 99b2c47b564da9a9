/**
 * Rows of data planes, the same in both engines.
 * Proven by `test/store/suite/tenancy/planes.ts`.
 */
import type { FormerKeys } from '../../core/planes/identity.ts';
import type { Counts, StoredPlane, StoredReport } from '../port/planes.ts';

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

/** Columns of `telemetry_plane`, in the order of `planeValues`. */
export const planeColumns = [
  'plane_id',
  'name',
  'created_ms',
  'created_by',
  'token_digest',
  'token_expires_ms',
  'token_used_ms',
  'enrolled_ms',
  'origin',
  'audit_origin',
  'verifier_key',
  'audit_verifier_key',
  'former_keys',
  'key_prefix',
  'key_last4',
  'key_digest',
  'sealed_secret',
  'previous_digest',
  'previous_secret',
  'previous_until_ms',
  'revoked_ms',
  'revision',
] as const;

const bytes = (digest: Uint8Array): Buffer => Buffer.from(digest);

export function planeValues(plane: StoredPlane): (string | number | null | Buffer)[] {
  const { enrolled } = plane;
  const previous = enrolled?.previous ?? null;
  return [
    plane.planeId,
    plane.name,
    plane.createdMs,
    plane.createdBy,
    bytes(plane.tokenDigest),
    plane.tokenExpiresMs,
    plane.tokenUsedMs,
    ...(enrolled === null ? Array<null>(10).fill(null) : enrolledValues(enrolled)),
    previous === null ? null : bytes(previous.keyDigest),
    previous?.sealedSecret ?? null,
    previous?.untilMs ?? null,
    plane.revokedMs,
    plane.revision,
  ];
}

type Enrolled = NonNullable<StoredPlane['enrolled']>;

/** The stored text. `fsck` computes the same text from events. */
export const formerKeysText = (keys: readonly FormerKeys[]): string =>
  JSON.stringify(
    keys.map(({ verifierKey, auditVerifierKey, untilMs }) => ({ verifierKey, auditVerifierKey, untilMs })),
  );

const enrolledValues = (enrolled: Enrolled) => [
  enrolled.atMs,
  enrolled.origin,
  enrolled.auditOrigin,
  enrolled.verifierKey,
  enrolled.auditVerifierKey,
  formerKeysText(enrolled.formerKeys),
  enrolled.keyPrefix,
  enrolled.keyLast4,
  bytes(enrolled.current.keyDigest),
  enrolled.current.sealedSecret,
];

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

const enrolledOf = (row: WithoutNull<PlaneRow>): Enrolled => ({
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

const previousOf = (row: PlaneRow): Enrolled['previous'] => {
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

/** Columns of `telemetry_report`, in the order of `reportValues`. */
export const reportColumns = [
  'plane_id',
  'epoch',
  'sequence',
  'report_id',
  'digest',
  'received_ms',
  'month',
  'tree_size',
  'totals',
  'link',
  'cosignature',
  'attestation',
  'challenge_id',
  'challenge',
  'challenge_expires_ms',
  'answer_digest',
  'answer_status',
  'answer',
  'answer_ms',
  'body',
] as const;

export function reportValues(report: StoredReport): (string | number | null | Buffer)[] {
  const { challenge, answer } = report;
  return [
    report.planeId,
    report.epoch,
    report.sequence,
    report.reportId,
    bytes(report.digest),
    report.receivedMs,
    report.month,
    report.treeSize,
    JSON.stringify(report.totals),
    report.link,
    report.cosignature,
    report.attestation,
    challenge?.challengeId ?? null,
    challenge?.text ?? null,
    challenge?.expiresMs ?? null,
    answer === null ? null : bytes(answer.digest),
    answer?.status ?? null,
    answer?.result ?? null,
    answer?.atMs ?? null,
    report.body,
  ];
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
  totals: JSON.parse(row.totals) as Counts,
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

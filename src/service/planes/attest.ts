/**
 * Takes answers to challenges (contract J4-J7). The first answer is final, right or wrong, and the same
 * answer again gets the same result: a plane that lost it can ask, and a plane that was caught cannot try
 * until one fits. A different answer is refused and recorded. A malformed message is no answer. A crash
 * before the store answers leaves the challenge open. Proven by `test/service/planes/attested.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { AttestationProof, AttestationAnswer, Challenge } from '../../contract/telemetry.ts';
import {
  verifyAttestation,
  type AttestationInput,
  type AttestationResult,
} from '../../core/planes/attestation.ts';
import { identitiesSince } from '../../core/planes/former-keys.ts';
import { sha256 } from '../../core/hash.ts';
import { readJson } from '../../core/json/parse.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Fault, PlaneIdentity } from '../../core/planes/usage-report.ts';
import type { StoredPlane, StoredReport } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import { notFound } from '../call/answer.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import { challengeOf, earlierHeads } from './challenge.ts';
import { attestationContradicted, attestationFailed } from './events.ts';
import { faultError, recordOnce } from './faults.ts';
import { identityOf } from './report.ts';
import { parsedReport } from './state.ts';
import { unlessOvertaken, untilStored } from '../call/overtaken.ts';

interface SentProof {
  readonly plane: StoredPlane;
  readonly organizationId: string;
  /** The challenge id in the path. */
  readonly challengeId: string;
  readonly proof: AttestationProof;
  /** The proof in RFC 8785 form. */
  readonly canonical: string;
}

/**
 * NOT_FOUND, FORBIDDEN for a challenge of another plane of the organization, VALIDATION_ERROR,
 * CHALLENGE_EXPIRED, ATTESTATION_FAILED with the fault.
 */
export function takeAttestation(services: Services, sent: SentProof): Promise<AttestationAnswer> {
  return untilStored(`challenge ${sent.challengeId}`, async () => {
    const { report, challenge } = await challenged(services, sent);
    const answered = report.answer ?? (await answer(services, sent, { report, challenge }));
    if (answered === null) return null;
    if (!answered.digest.equals(sha256(sent.canonical))) return contradicted(services, sent, report);
    return resultOf(answered);
  });
}

interface ChallengedReport {
  readonly report: StoredReport;
  readonly challenge: NonNullable<StoredReport['challenge']>;
}

async function challenged({ store }: Services, sent: SentProof): Promise<ChallengedReport> {
  const { organizationId, challengeId, plane, proof } = sent;
  const found = await store.challenged(organizationId, challengeId);
  if (found === null || found.report.challenge === null) throw notFound('challenge');
  const { report } = found;
  if (report.planeId !== plane.planeId) {
    const detail =
      'expected a challenge of the calling data plane, got one of another plane of the organization';
    throw new GovError('FORBIDDEN', detail);
  }
  for (const [name, expected] of [
    ['challengeId', challengeId],
    ['reportId', report.reportId],
    ['dataPlaneId', plane.planeId],
  ] as const) {
    if (proof[name] === expected) continue;
    const detail = `expected ${expected}, as in the challenge, got ${proof[name]}`;
    throw fieldError({ pointer: `/${name}`, in: 'body', code: 'NOT_ALLOWED', detail });
  }
  return { report, challenge: found.report.challenge };
}

type Answer = NonNullable<StoredReport['answer']>;

/** Null where another answer arrived in the meantime. */
async function answer(
  services: Services,
  { plane, proof, canonical }: SentProof,
  { report, challenge }: ChallengedReport,
): Promise<Answer | null> {
  const nowMs = services.now();
  // by the plane's clock or ours
  const isOver = challenge.expiresMs <= nowMs || report.attestation === 'expired';
  if (isOver) throw expired(challengeOf(challenge));
  const { projectId, planeId } = plane;
  const drawn = challengeOf(challenge);
  const earlier = await earlierHeads(services, drawn, { projectId, planeId });
  const verdict = verified(identityOf(plane), {
    challenge: drawn,
    report: parsedReport(report),
    proof,
    earlier,
  });
  const { fault } = verdict;
  const result = fault ?? attested(report, verdict, nowMs);
  const kept: Answer = {
    digest: sha256(canonical),
    status: fault === null ? 200 : 422,
    result: JSON.stringify(result),
    atMs: nowMs,
  };
  const context = { planeId, nowMs, salt: services.salt };
  const { reportId } = report;
  const told = {
    challengeId: challenge.challengeId,
    reportId,
    reason: fault?.fault ?? null,
    pointer: fault?.pointer ?? null,
  };
  const leaves = fault === null ? [] : [attestationFailed(told, context)];
  const effect = {
    kind: 'answerChallenge',
    planeId,
    reportId,
    attestation: fault === null ? 'verified' : 'failed',
    answer: kept,
  } as const;
  const fingerprints = new Map(leaves.map((_, at) => [at, 'telemetry'] as const));
  const request = { projectId, leaves, effects: [effect], fingerprints };
  const stored = await unlessOvertaken(append(services, request), 'CONFLICT');
  return stored === null ? null : kept;
}

/**
 * Verifies with the plane's keys; after a new enrolment also with the keys that it had when it got the
 * challenge.
 */
function verified(
  plane: ReturnType<typeof identityOf>,
  input: Omit<AttestationInput, 'plane'>,
): AttestationResult {
  const [current, ...former] = identitiesSince(plane, Date.parse(input.challenge.issuedAt));
  const by = (identity: PlaneIdentity): AttestationResult => verifyAttestation({ ...input, plane: identity });
  const verdict = by(current);
  if (verdict.fault?.fault !== 'checkpoint_signature_invalid') return verdict;
  return former.map(by).find(({ fault }) => fault === null) ?? verdict;
}

function attested(
  report: StoredReport,
  { checks, sampled, detection }: AttestationResult,
  nowMs: number,
): AttestationAnswer {
  const { challenge, reportId, cosignature } = report;
  return {
    challengeId: challenge?.challengeId ?? '',
    reportId,
    status: 'verified',
    verifiedAt: formatTimestamp(nowMs),
    checks: [...checks],
    sampled,
    detection: [...detection],
    cosignature,
  };
}

/** The result of the stored answer. ATTESTATION_FAILED. */
function resultOf({ status, result }: Answer): AttestationAnswer {
  const kept = readJson(result) as unknown;
  if (status === 200) return kept as AttestationAnswer;
  throw faultError('ATTESTATION_FAILED', kept as Fault);
}

async function contradicted(services: Services, sent: SentProof, report: StoredReport): Promise<never> {
  const { plane, challengeId } = sent;
  const context = { planeId: plane.planeId, nowMs: services.now(), salt: services.salt };
  const event = attestationContradicted({ challengeId, reportId: report.reportId }, context);
  await recordOnce(services, plane.projectId, event);
  throw faultError('ATTESTATION_FAILED', {
    fault: 'already_answered',
    pointer: '',
    detail:
      'expected the first answer to this challenge again, got another one; a challenge takes one answer',
  });
}

const expired = ({ expiresAt }: Challenge): GovError =>
  faultError('CHALLENGE_EXPIRED', {
    fault: 'challenge_expired',
    pointer: '/challengeId',
    detail: `expected an answer before ${expiresAt}; a later report gets a challenge again`,
  });

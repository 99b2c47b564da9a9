/**
 * Attestations: answers of data planes to challenges about their usage reports. For each sampled unit the answer has the
 * leaf whose totals first reach it and the previous leaf, which show its label and its units. It also proves that earlier
 * reports are of the same log, and that audit leaves are counted, by hashes only. A note by the key of the plane covers
 * the answer, so the HMAC signing secret alone cannot make one.
 * Proven by `test/core/planes/attestation.test.ts` and `test/core/planes/cheating.long.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { AttestationProof, Challenge, UsageReport } from '../../contract/telemetry.ts';
import { encodeBase64 } from '../json/base64.ts';
import {
  checkConsistency,
  checkCross,
  checkSamples,
  type EarlierHead,
  type Heads,
} from './attestation-checks.ts';
import { crossIndexes, sampledUnits } from './challenge.ts';
import { sha256Text } from '../hash.ts';
import { canonicalText } from '../json/parse.ts';
import { sumOf } from './metering.ts';
import { openNote } from '../note/signed.ts';
import { type Fault, faultAt, meteringKey, openFault, openHead, type PlaneIdentity } from './identity.ts';
import { reportedAuditHead, reportedHead } from './reported-head.ts';

export type { EarlierHead } from './attestation-checks.ts';
export { challengeId, crossIndexes, sampledUnits } from './challenge.ts';

type Answer = Pick<AttestationProof, 'samples' | 'consistency' | 'cross'>;

/** Returns the text of the note that a plane signs with its key of the epoch of the challenge. */
export function attestationText(challenge: Challenge, { samples, consistency, cross }: Answer): string {
  const { challengeId, origin, treeSize, rootHash } = challenge;
  const answerHash = sha256Text(canonicalText({ samples, consistency, cross }));
  return `gov.attestation/v1\n${challengeId}\n${origin} ${treeSize} ${rootHash}\n${answerHash}\n`;
}

export interface AttestationInput {
  /** As drawn for `report`; the caller checks its owner, time and single use. */
  readonly challenge: Challenge;
  /** The stored report, which `checkReport` accepted. */
  readonly report: UsageReport;
  /** Valid by its schema, otherwise attacker controlled. */
  readonly proof: AttestationProof;
  readonly plane: PlaneIdentity;
  /**
   * The heads of the reports of this plane and epoch with a size in `challenge.consistencySizes`: `reportedHead(report)` of
   * each, all of them if several reports have one size. A missing head is a bug and throws.
   */
  readonly earlier: readonly EarlierHead[];
}

export interface AttestationResult {
  /** In the order in which they run. After a failed check the others do not run and have not passed. */
  readonly checks: { name: string; passed: boolean; count: number }[];
  /** The fault, with a pointer into the proof; null if all checks passed. */
  readonly fault: Fault | null;
  /** Number of distinct sampled units. */
  readonly sampled: number;
  readonly detection: { badFraction: number; probability: number }[];
}

/**
 * Verifies an answer; it is valid only if `fault` is null. Throws VALIDATION_ERROR if it belongs to another challenge,
 * report or plane (contract J7: structurally inconsistent). Samples are in the order of `sampledUnits` and `crossIndexes`,
 * consistency proofs in that of `consistencySizes`. Cost: one signature, and 50 hashes for each of up to 66 units in a log
 * of ten million leaves: a few ms.
 */
export function verifyAttestation(input: AttestationInput): AttestationResult {
  const { challenge, report, proof, plane, earlier } = input;
  checkReferences(challenge, proof);
  const units = sampledUnits(challenge);
  const cross = crossIndexes(challenge);
  const heads: Heads = { log: reportedHead(report), audit: reportedAuditHead(report) };
  assertDrawnFor(challenge, report, heads);
  const steps: readonly [name: string, count: number, check: () => Fault | null][] = [
    ['checkpoint', 1, () => checkReported(report, proof, plane)],
    ['signature', 1, () => checkSignature(challenge, proof, plane)],
    ['sample_set', units.length + cross.length, () => checkSampleSet(challenge, proof, { units, cross })],
    ['units', units.length, () => checkSamples(proof.samples, heads)],
    ['consistency', proof.consistency.length, () => checkConsistency(proof.consistency, heads, earlier)],
    ['cross_reference', cross.length, () => checkCross(proof.cross, heads)],
  ];
  let fault: Fault | null = null;
  const checks = steps.map(([name, count, check]) => {
    if (fault !== null) return { name, passed: false, count: 0 };
    fault = check();
    return { name, passed: fault === null, count };
  });
  return {
    checks,
    fault,
    sampled: units.length,
    detection: detectionOf(units.length === 0 ? 0 : challenge.sampleSize),
  };
}

/**
 * 1 − (1 − f)^k: the probability that k draws find wrong labels if a share f of the units has them. The first and the last
 * unit are not among the k, because they are always sampled.
 */
const detectionOf = (draws: number): AttestationResult['detection'] =>
  [0.01, 0.05].map((badFraction) => ({ badFraction, probability: 1 - (1 - badFraction) ** draws }));

function checkReferences(challenge: Challenge, proof: AttestationProof): void {
  for (const name of ['challengeId', 'reportId', 'dataPlaneId'] as const) {
    if (proof[name] === challenge[name]) continue;
    const detail = `expected ${challenge[name]} of the challenge, got ${proof[name]}`;
    const pointer = `/${name}`;
    throw new GovError('VALIDATION_ERROR', `body ${pointer}: ${detail}`, {
      errors: [{ pointer, in: 'body', code: 'NOT_ALLOWED', detail }],
    });
  }
}

/** Both come from the service itself: a challenge for another report is a bug. */
function assertDrawnFor(
  challenge: Challenge,
  { reportId, dataPlaneId, log, totals }: UsageReport,
  heads: Heads,
): void {
  const same =
    challenge.reportId === reportId &&
    challenge.dataPlaneId === dataPlaneId &&
    challenge.origin === log.origin &&
    challenge.epoch === log.epoch &&
    challenge.treeSize === heads.log.size &&
    challenge.rootHash === encodeBase64(heads.log.root) &&
    challenge.auditTreeSize === heads.audit.size &&
    challenge.unitRange.to <= sumOf(totals);
  if (!same)
    throw new Error(`expected a challenge drawn for report ${reportId}, got ${challenge.challengeId}`);
}

function checkReported(report: UsageReport, { log }: AttestationProof, plane: PlaneIdentity): Fault | null {
  const reported = report.log;
  if (log.origin !== reported.origin || log.epoch !== reported.epoch) {
    const detail = `expected ${reported.origin} as reported, got ${log.origin} of epoch ${log.epoch}`;
    return faultAt('origin_mismatch', '/log/origin', detail);
  }
  if (log.treeSize !== reported.treeSize) {
    const detail = `expected ${reported.treeSize} leaves as reported, got ${log.treeSize}`;
    return faultAt('history_regressed', '/log/treeSize', detail);
  }
  if (log.checkpoint === reported.checkpoint) return null;
  const pointer = '/log/checkpoint';
  const key = meteringKey(plane, log.epoch);
  const head = openHead(log.checkpoint, { origin: log.origin, key, size: log.treeSize, pointer });
  if ('fault' in head) return head;
  return head.root.equals(reportedHead(report).root)
    ? null
    : faultAt(
        'consistency_invalid',
        pointer,
        `expected the root reported for ${head.size} leaves, got another`,
      );
}

function checkSignature(challenge: Challenge, proof: AttestationProof, plane: PlaneIdentity): Fault | null {
  const pointer = '/signature';
  let text: string;
  try {
    ({ text } = openNote(proof.signature, [meteringKey(plane, challenge.epoch)]));
  } catch (error) {
    return openFault(error, pointer);
  }
  return text === attestationText(challenge, proof)
    ? null
    : faultAt(
        'checkpoint_signature_invalid',
        pointer,
        'expected a note over this answer, got one over another text',
      );
}

function checkSampleSet(
  { consistencySizes, treeSize }: Challenge,
  { samples, consistency, cross }: AttestationProof,
  asked: { readonly units: readonly number[]; readonly cross: readonly number[] },
): Fault | null {
  const sizes = consistencySizes.map((size) => `${size} to ${treeSize}`);
  const sets = [
    ['/samples', asked.units, samples.map(({ unit }) => unit)],
    ['/consistency', sizes, consistency.map(({ fromSize, toSize }) => `${fromSize} to ${toSize}`)],
    ['/cross', asked.cross, cross.map(({ auditIndex }) => auditIndex)],
  ] as const;
  for (const [pointer, expected, got] of sets) {
    const at = Array.from({ length: Math.max(expected.length, got.length) }).findIndex(
      (_, n) => expected[n] !== got[n],
    );
    if (at < 0) continue;
    const detail = `expected ${expected[at] ?? 'no more'} as in the challenge, in this order, got ${got[at] ?? 'no more'}`;
    return faultAt('sample_set_mismatch', `${pointer}/${at}`, detail);
  }
  return null;
}

/**
 * Answers challenges about a plane's reports with hashes, counts and times, never content. See contract J4-J7
 * and docs/reference/telemetry-protocol.md. The plane answers a challenge once. It stores the bytes before it
 * sends them and repeats the same bytes. It refuses a challenge about a head that it did not report, so
 * nobody can make the key sign for another tree. Proven by `test/plane/telemetry/attest.test.ts`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../../src/contract/limits.ts';
import {
  attestSchema,
  Challenge,
  type AttestationProof,
  type UsageReport,
} from '../../src/contract/telemetry.ts';
import { attestationText, crossIndexes, sampledUnits } from '../../src/core/planes/attestation.ts';
import { encodeBase64 } from '../../src/core/json/base64.ts';
import { canonicalText } from '../../src/core/json/canonical.ts';
import { sumOf } from '../../src/core/planes/metering.ts';
import { signNote } from '../../src/core/note/signed.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import { reportedHead } from '../../src/core/planes/usage-report.ts';
import { fits } from '../../src/service/call/explain.ts';
import { pathAmong, pathText, PlaneLog } from './meter-log.ts';
import type { Outbox, StoredChallenge } from './outbox.ts';
import { ed25519Of, meteringLog, type Maker } from './report.ts';

/** Reads a challenge from a response of the service. Returns null where none fits the schema. */
export function challengeIn(value: unknown): Challenge | null {
  return fits(Challenge, value) ? value : null;
}

/**
 * Makes and stores the answer to a challenge at first, and returns the stored answer later. Returns the
 * reason where the plane refuses. Yields between samples. STORAGE_FAULT where the log differs from the
 * report. Cost: about 1 ms for each of up to 74 samples in a log of ten million leaves.
 */
export async function answerChallenge(
  maker: Maker,
  stored: StoredChallenge,
): Promise<{ readonly answer: string } | { readonly refused: string }> {
  if (stored.answer !== null) return { answer: stored.answer };
  const { outbox, enrolment, project } = maker;
  const challenge = challengeIn(JSON.parse(stored.challenge));
  const report = reportOf(outbox, stored);
  if (challenge === null || report === null) return { refused: 'it is about no report of this plane' };
  const fault = notAbout(report, challenge, enrolment.dataPlaneId);
  if (fault !== null) return { refused: fault };
  if (report.log.epoch !== meteringLog(project).epoch) {
    return { refused: `epoch ${report.log.epoch} of the metering log has ended` };
  }
  const proof = await prove(maker, challenge, report);
  const text = canonicalText(proof);
  return { answer: outbox.answer(stored.planeId, stored.challengeId, text) };
}

function reportOf(outbox: Outbox, { planeId, reportId }: StoredChallenge): UsageReport | null {
  const found = outbox.report(planeId, reportId);
  return found === null ? null : (JSON.parse(found.body) as UsageReport); // our own
}

/** Says why a challenge does not fit this report. Returns null where it fits. */
export function notAbout(report: UsageReport, challenge: Challenge, planeId: string): string | null {
  const { log, auditLog, totals, reportId } = report;
  const same: readonly [name: string, expected: unknown, got: unknown][] = [
    ['dataPlaneId', planeId, challenge.dataPlaneId],
    ['reportId', reportId, challenge.reportId],
    ['origin', log.origin, challenge.origin],
    ['epoch', log.epoch, challenge.epoch],
    ['treeSize', log.treeSize, challenge.treeSize],
    ['rootHash', encodeBase64(reportedHead(report).root), challenge.rootHash],
    ['auditTreeSize', auditLog.treeSize, challenge.auditTreeSize],
  ];
  for (const [name, expected, got] of same) {
    if (expected !== got) return `${name}: expected ${String(expected)} as reported, got ${String(got)}`;
  }
  const { unitRange, sampleSize, crossSampleSize, consistencySizes } = challenge;
  if (unitRange.from > unitRange.to || unitRange.to > sumOf(totals))
    return `unitRange: expected units up to ${sumOf(totals)}, got (${unitRange.from}, ${unitRange.to}]`;
  if (sampleSize > limits.attestationSamples || crossSampleSize > limits.attestationCrossSamples)
    return `sampleSize: expected at most ${limits.attestationSamples} and ${limits.attestationCrossSamples}`;
  const beyond = consistencySizes.find((size) => size > log.treeSize);
  return beyond === undefined ? null : `consistencySizes: expected at most ${log.treeSize}, got ${beyond}`;
}

async function prove(maker: Maker, challenge: Challenge, report: UsageReport): Promise<AttestationProof> {
  const log = new PlaneLog(maker.reader, maker.project.projectId);
  const samples: AttestationProof['samples'] = [];
  for (const unit of sampledUnits(challenge)) {
    samples.push(await sampleOf(log, unit, challenge.treeSize));
    await nextTurn();
  }
  const consistency: AttestationProof['consistency'] = [];
  for (const fromSize of challenge.consistencySizes) {
    const path = await log.consistency(fromSize, challenge.treeSize);
    consistency.push({ fromSize, toSize: challenge.treeSize, path });
  }
  const cross: AttestationProof['cross'] = [];
  for (const auditIndex of crossIndexes(challenge)) {
    cross.push(await crossOf(log, auditIndex, challenge));
    await nextTurn();
  }
  const { origin, epoch, treeSize, checkpoint } = report.log;
  const { challengeId, reportId, dataPlaneId } = challenge;
  const answer = { samples, consistency, cross };
  return {
    schemaVersion: attestSchema,
    challengeId,
    reportId,
    dataPlaneId,
    log: { origin, epoch, treeSize, checkpoint },
    ...answer,
    generatedAt: formatTimestamp(maker.now()),
    signature: signNote(attestationText(challenge, answer), [ed25519Of(maker.signers(origin))]),
  };
}

async function sampleOf(
  log: PlaneLog,
  unit: number,
  treeSize: number,
): Promise<AttestationProof['samples'][number]> {
  const index = await log.reaching(unit, treeSize);
  const { record } = await log.leaf(index);
  const inclusion = await log.inclusion('metering', index, treeSize);
  if (index === 0) return { unit, index, record, inclusion };
  const before = await log.leaf(index - 1);
  const previous = {
    record: before.record,
    inclusion: await log.inclusion('metering', index - 1, treeSize),
  };
  return { unit, index, record, inclusion, previous };
}

async function crossOf(
  log: PlaneLog,
  auditIndex: number,
  { treeSize, auditTreeSize }: Challenge,
): Promise<AttestationProof['cross'][number]> {
  const meterIndex = await log.covering(auditIndex);
  const { record: meterRecord } = await log.leaf(meterIndex);
  const { firstAuditIndex: firstIndex, count, nonce } = await log.covered(meterIndex);
  const hashes = await log.auditHashes(firstIndex, count);
  const at = auditIndex - firstIndex;
  const leaf = hashes[at];
  if (leaf === undefined) throw new Error(`leaf ${meterIndex} does not cover audit leaf ${auditIndex}`);
  return {
    auditIndex,
    auditLeafHash: encodeBase64(leaf),
    auditInclusion: await log.inclusion('audit', auditIndex, auditTreeSize),
    meterIndex,
    meterRecord,
    meterInclusion: await log.inclusion('metering', meterIndex, treeSize),
    refNonce: nonce.toString('base64url'),
    firstAuditIndex: firstIndex,
    count,
    batchInclusion: pathText(pathAmong(hashes, at)),
  };
}

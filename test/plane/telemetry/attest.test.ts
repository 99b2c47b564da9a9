/** Answers of a plane: they verify, are made once, and only about heads that the plane reported. */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { answerChallenge, notAbout } from '../../../plane/telemetry/attest.ts';
import { planeIdentity } from '../../../plane/enrolment/exchange.ts';
import { openOutbox, type Outbox } from '../../../plane/telemetry/outbox.ts';
import { makeReports, type Maker } from '../../../plane/telemetry/report.ts';
import type { AttestationProof, Challenge, UsageReport } from '../../../src/contract/telemetry.ts';
import { AttestationProof as proofSchema } from '../../../src/contract/telemetry.ts';
import { challengeId, verifyAttestation } from '../../../src/core/planes/attestation.ts';
import { encodeBase64 } from '../../../src/core/json/base64.ts';
import { meteredTypes } from '../../../src/contract/operation.ts';
import { reportedHead } from '../../../src/core/planes/usage-report.ts';
import { readKeys } from '../../../src/host/keys/disk.ts';
import { explain, type JsonSchema } from '../../../src/service/call/explain.ts';
import {
  enrolFake,
  fakeEnrolment,
  setClock,
  startTelemetryPlane,
  type TestTelemetryPlane,
} from '../support/enrolled.ts';

const hourMs = 3_600_000;
const planeId = fakeEnrolment.dataPlaneId;
let plane: TestTelemetryPlane;
let outbox: Outbox;
let maker: Maker;
beforeEach(async () => {
  setClock(Date.UTC(2026, 9, 20, 9));
  plane = await startTelemetryPlane({ settings: { mode: 'manual-file' } });
  enrolFake(plane.dataDir);
  outbox = openOutbox(plane.dataDir);
  maker = {
    enrolment: fakeEnrolment,
    outbox,
    project: plane.project,
    reader: plane.store,
    signers: readKeys(plane.dataDir).telemetrySigners,
    signedSize: async (tree) => (await plane.store.head(plane.project.projectId, tree)).size,
    now: Date.now,
    randomBytes,
  };
});
afterEach(async () => {
  outbox.close();
  await plane.end();
  vi.useRealTimers();
});

/** Reports after each number of requests, of one event each, every third of another type. */
async function reportsAfter(...requests: number[]): Promise<UsageReport[]> {
  for (const count of requests) {
    for (let at = 0; at < count; at++)
      await plane.record(1 + (at % 4), meteredTypes[at % 3] ?? 'audit_event');
    setClock(Date.now() + hourMs);
    await makeReports(maker);
  }
  return [...outbox.reports(planeId, { queued: false })].map(({ body }) => JSON.parse(body));
}

const sum = (counts: Record<string, number>): number =>
  Object.values(counts).reduce((all, each) => all + each, 0);

/** As a service would draw it, about the last of the reports. */
function challengeOf(reports: readonly UsageReport[], members: Partial<Challenge> = {}): Challenge {
  const report = reports.at(-1)!;
  const { log, totals, operations, auditLog, reportId, dataPlaneId } = report;
  return {
    challengeId: challengeId(randomBytes(32)),
    reportId,
    dataPlaneId,
    origin: log.origin,
    epoch: log.epoch,
    treeSize: log.treeSize,
    rootHash: encodeBase64(reportedHead(report).root),
    seed: randomBytes(32).toString('hex'),
    sampleSize: 64,
    unitRange: { from: sum(totals) - sum(operations), to: sum(totals) },
    consistencySizes: reports.slice(0, -1).map((each) => each.log.treeSize),
    auditTreeSize: auditLog.treeSize,
    crossSampleSize: 8,
    issuedAt: new Date().toISOString(),
    expiresAt: new Date(Date.now() + 24 * hourMs).toISOString(),
    ...members,
  };
}

/** Stores a challenge as a receipt does, and answers it. */
async function answered(challenge: Challenge, as: Maker = maker) {
  const { challengeId: id, reportId } = challenge;
  const receipt = { state: 'accepted', receipt: '{}', reason: null, atMs: Date.now() } as const;
  outbox.settle({ planeId, reportId }, receipt, { challengeId: id, text: JSON.stringify(challenge) });
  const stored = outbox.challenge(planeId, id);
  if (stored === null) throw new Error('expected a challenge');
  return answerChallenge(as, stored);
}

const earlierOf = (reports: readonly UsageReport[]) => reports.slice(0, -1).map(reportedHead);

describe('an answer', () => {
  it.each([
    ['of one report', [9]],
    ['of several', [5, 300, 3]],
    ['of a period without units', [4, 0]],
  ])('an attestation %s verifies', async (_, requests) => {
    const reports = await reportsAfter(...requests);
    const challenge = challengeOf(reports);
    const made = await answered(challenge);
    const proof = JSON.parse('answer' in made ? made.answer : 'null') as AttestationProof;
    expect(explain(proofSchema as unknown as JsonSchema, proof, { in: 'body' }).errors).toEqual([]);
    const result = verifyAttestation({
      challenge,
      report: reports.at(-1)!,
      proof,
      plane: planeIdentity(plane.dataDir),
      earlier: earlierOf(reports),
    });
    expect(result.fault).toBeNull();
    expect(result.checks.filter(({ passed }) => !passed)).toEqual([]);
  });

  it('an attestation of a log whose requests had hundreds of events shows each batch', async () => {
    for (const events of [1, 2, 255, 256, 257, 500]) await plane.record(events);
    await makeReports(maker);
    const reports = [...outbox.reports(planeId, { queued: false })].map(({ body }) => JSON.parse(body));
    for (let round = 0; round < 8; round++) {
      const challenge = challengeOf(reports, { crossSampleSize: 8 });
      const made = await answered(challenge);
      const proof = JSON.parse('answer' in made ? made.answer : 'null') as AttestationProof;
      const input = {
        challenge,
        report: reports.at(-1),
        proof,
        plane: planeIdentity(plane.dataDir),
        earlier: [],
      };
      expect(verifyAttestation(input).fault).toBeNull();
    }
  });

  it('an attestation is made once, and later requests return the same bytes', async () => {
    const reports = await reportsAfter(5);
    const challenge = challengeOf(reports);
    const first = await answered(challenge);
    setClock(Date.now() + 10 * hourMs);
    outbox.close();
    outbox = openOutbox(plane.dataDir);
    expect(await answered(challenge, { ...maker, outbox })).toEqual(first);
    // another process that had not seen it
    const stored = { ...outbox.challenge(planeId, challenge.challengeId)!, answer: null };
    expect(await answerChallenge({ ...maker, outbox }, stored)).toEqual(first);
  });

  it('an attestation cannot be replaced in the outbox', async () => {
    const challenge = challengeOf(await reportsAfter(3));
    const made = await answered(challenge);
    expect(outbox.answer(planeId, challenge.challengeId, '{}')).toBe('answer' in made ? made.answer : '');
  });

  it('a challenge id that is reused with another text returns the first attestation', async () => {
    const reports = await reportsAfter(5);
    const challenge = challengeOf(reports);
    const first = await answered(challenge);
    expect(await answered({ ...challenge, seed: '00'.repeat(32) })).toEqual(first);
  });
});

describe('a challenge is refused', () => {
  const cases: readonly [string, (challenge: Challenge) => Partial<Challenge>][] = [
    ['of another plane', () => ({ dataPlaneId: 'dpl_01jq3v5k8hf7wb3c9x2m4n6p8s' })],
    ['of another origin', ({ origin }) => ({ origin: `${origin}1` })],
    ['of another epoch', () => ({ epoch: 1 })],
    ['of a smaller tree', ({ treeSize }) => ({ treeSize: treeSize - 1 })],
    ['of a larger tree', ({ treeSize }) => ({ treeSize: treeSize + 1 })],
    ['of another root', () => ({ rootHash: encodeBase64(Buffer.alloc(32)) })],
    ['of another audit log', ({ auditTreeSize }) => ({ auditTreeSize: auditTreeSize + 1 })],
    ['of units beyond', ({ unitRange: { from, to } }) => ({ unitRange: { from, to: to + 1 } })],
    ['of a range that falls', ({ unitRange: { to } }) => ({ unitRange: { from: to, to: to - 1 } })],
    ['of too many samples', () => ({ sampleSize: 65 })],
    ['of too many cross samples', () => ({ crossSampleSize: 9 })],
    ['of consistency with what is to come', ({ treeSize }) => ({ consistencySizes: [treeSize + 1] })],
  ];
  it.each(cases)('a plane refuses a challenge: %s', async (_, change) => {
    const reports = await reportsAfter(5, 4);
    const challenge = challengeOf(reports);
    const report = reports.at(-1)!;
    expect(notAbout(report, challenge, planeId)).toBeNull();
    const other = { ...challenge, ...change(challenge) };
    expect(notAbout(report, other, planeId)).toEqual(expect.any(String));
    expect(await answered(other)).toEqual({ refused: expect.any(String) });
    expect(outbox.challenge(planeId, challenge.challengeId)?.answer).toBeNull();
  });

  it('a plane refuses a text that is not a challenge', async () => {
    const [report] = await reportsAfter(2);
    const { reportId } = report!;
    const settled = { state: 'accepted', receipt: null, reason: null, atMs: 0 } as const;
    outbox.settle({ planeId, reportId }, settled, { challengeId: 'chl_x', text: '{"a":1}' });
    const stored = outbox.challenge(planeId, 'chl_x');
    expect(await answerChallenge(maker, stored!)).toEqual({ refused: 'it is about no report of this plane' });
  });

  it('a plane refuses a challenge whose epoch has ended', async () => {
    const challenge = challengeOf(await reportsAfter(2));
    const origin = plane.project.meteringOrigin.replace(/0$/, '1');
    const later = { ...maker, project: { ...plane.project, meteringOrigin: origin } };
    expect(await answered(challenge, later)).toEqual({ refused: 'epoch 0 of the metering log has ended' });
  });
});

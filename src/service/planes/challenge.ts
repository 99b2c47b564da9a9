/**
 * Challenges about reports (contract J4; design: verifiable metering): drawn for the first report of an epoch, for one
 * after a report whose answer was wrong and, at random, for one in `limits.attestationOneIn`. The report is in our hands, signed, before the seed is drawn, so nobody
 * can choose what is asked of what is reported. Proven by `test/service/planes/attested.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { Challenge } from '../../contract/telemetry.ts';
import { challengeId, type Earlier } from '../../core/plane/attestation.ts';
import { readJson } from '../../core/json/parse.ts';
import { sumOf } from '../../core/plane/metering.ts';
import { formatTimestamp } from '../../core/time.ts';
import { reportedHead } from '../../core/plane/usage-report.ts';
import type { StoredReport } from '../../store/port/store.ts';
import type { Services } from '../dependencies.ts';
import { parsedReport, type Came } from './state.ts';

/** The challenge of a report that came, or null where it is not sampled. `byFile`: it has a way to go, there and back. */
export async function drawChallenge(
  services: Services,
  came: Came,
  asked: { readonly nowMs: number; readonly byFile: boolean; readonly isSuspect: boolean },
): Promise<StoredReport['challenge']> {
  const { randomBytes } = services;
  const { report, plane } = came;
  const { nowMs, byFile, isSuspect } = asked;
  const isSure = report.sequence === 1 || isSuspect;
  if (!isSure && randomBytes(4).readUInt32BE() % limits.attestationOneIn !== 0) return null;
  const { log, totals, operations, auditLog } = report;
  const to = sumOf(totals);
  const hours = byFile ? limits.attestationFileHours : limits.attestationHours;
  const expiresMs = nowMs + hours * 3_600_000;
  const challenge: Challenge = {
    challengeId: challengeId(randomBytes(32)),
    reportId: report.reportId,
    dataPlaneId: plane.planeId,
    origin: log.origin,
    epoch: log.epoch,
    treeSize: log.treeSize,
    rootHash: reportedHead(report).root.toString('base64'),
    seed: randomBytes(32).toString('hex'),
    sampleSize: limits.attestationSamples,
    unitRange: { from: to - sumOf(operations), to },
    consistencySizes: await sizesBefore(services, came),
    auditTreeSize: auditLog.treeSize,
    crossSampleSize: limits.attestationCrossSamples,
    issuedAt: formatTimestamp(nowMs),
    expiresAt: formatTimestamp(expiresMs),
  };
  return { challengeId: challenge.challengeId, text: JSON.stringify(challenge), expiresMs };
}

/** As it was drawn. */
export const challengeOf = ({ text }: NonNullable<StoredReport['challenge']>): Challenge =>
  readJson(text) as unknown as Challenge;

/** What a challenge asks consistency with: sizes that were reported before, the newest first. */
async function sizesBefore({ store }: Services, { plane, report }: Came): Promise<number[]> {
  const { epoch, treeSize } = report.log;
  const limit = limits.attestationConsistencySizes;
  const sizes = await store.reportedSizes(plane.projectId, plane.planeId, { epoch, treeSize, limit });
  // what was reported as empty has no root that another tree could contradict
  return sizes.filter((size) => size > 0);
}

/** Reports that are read at once to find the heads of the sizes asked about. */
const headsRead = 32;

/**
 * The heads that a challenge asks consistency with, as they were reported. Reports are looked through from the newest one
 * of the epoch down. Cost: as many reads of 32 as there are reports since the smallest of the sizes.
 */
export async function earlierHeads(
  { store }: Services,
  challenge: Challenge,
  { projectId, planeId }: { readonly projectId: string; readonly planeId: string },
): Promise<Earlier[]> {
  const { consistencySizes, epoch } = challenge;
  const wanted = new Set(consistencySizes);
  if (wanted.size === 0) return [];
  const heads = new Map<string, Earlier>();
  let after = { epoch: epoch + 1, sequence: 1 };
  for (;;) {
    const page = await store.reports(projectId, planeId, { after, limit: headsRead });
    const own = page.filter((each) => each.epoch === epoch);
    for (const each of own.filter(({ treeSize }) => wanted.has(treeSize))) {
      const { size, root } = reportedHead(parsedReport(each));
      heads.set(`${size} ${root.toString('hex')}`, { size, root });
    }
    const last = own.at(-1);
    const isFound = new Set([...heads.values()].map(({ size }) => size)).size === wanted.size;
    const isBelow = last !== undefined && last.treeSize < Math.min(...wanted);
    if (last === undefined || own.length < headsRead || (isFound && isBelow)) return [...heads.values()];
    after = { epoch, sequence: last.sequence };
  }
}

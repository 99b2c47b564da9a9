/**
 * Draws challenges about reports (contract J4): for the first report of an epoch, for one after a report with
 * a wrong answer and, at random, for one in `limits.attestationOneIn`. The service holds the signed report
 * before it draws the seed, so nobody can choose what a challenge asks. Proven by
 * `test/service/planes/attested.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { Challenge } from '../../contract/telemetry.ts';
import { challengeId, type EarlierHead } from '../../core/planes/attestation.ts';
import { readJson } from '../../core/json/parse.ts';
import { sumOf } from '../../core/planes/metering.ts';
import { formatTimestamp } from '../../core/time.ts';
import { reportedHead } from '../../core/planes/usage-report.ts';
import type { StoredReport } from '../../store/port/store.ts';
import type { Services } from '../port/services.ts';
import { parsedReport, type NewReport } from './state.ts';

/**
 * The challenge of a new report, or null where it is not sampled. `byFile`: the answer needs the time of a
 * trip by file.
 */
export async function drawChallenge(
  services: Services,
  came: NewReport,
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

/** The challenge that was drawn. */
export const challengeOf = ({ text }: NonNullable<StoredReport['challenge']>): Challenge =>
  readJson(text) as unknown as Challenge;

/** The sizes whose consistency a challenge asks for: earlier reported ones, the newest first. */
async function sizesBefore({ store }: Services, { plane, report }: NewReport): Promise<number[]> {
  const { epoch, treeSize } = report.log;
  const limit = limits.attestationConsistencySizes;
  const sizes = await store.reportedSizes(plane.projectId, plane.planeId, { epoch, treeSize, limit });
  // an empty tree has no root that another tree could contradict
  return sizes.filter((size) => size > 0);
}

/** Reports read at once to find the heads of those sizes. */
const headsRead = 32;

/**
 * The reported heads of those sizes. Reads the epoch's reports from the newest down. Cost: a read for every
 * 32 reports since the smallest of the sizes.
 */
export async function earlierHeads(
  { store }: Services,
  challenge: Challenge,
  { projectId, planeId }: { readonly projectId: string; readonly planeId: string },
): Promise<EarlierHead[]> {
  const { consistencySizes, epoch } = challenge;
  const wanted = new Set(consistencySizes);
  if (wanted.size === 0) return [];
  const heads = new Map<string, EarlierHead>();
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

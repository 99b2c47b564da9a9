/**
 * Checks the logs of a plane against the reports in its `telemetry.db`, as the start does with `heads.db`.
 * Signed heads are the source of every report. A log that lacks one is an older copy, and a signature on it
 * would make a second history. Proven by `test/plane/telemetry/outbox-held.test.ts`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GovError } from '../../src/contract/problems.ts';
import { checkReportBy } from '../../src/core/planes/former-keys.ts';
import { parseTrust } from '../../src/core/note/trust.ts';
import { reportedAuditHead, reportedHead } from '../../src/core/planes/usage-report.ts';
import { projectOf, readPlaneFile } from '../../src/host/data/config.ts';
import { readKeys } from '../../src/host/keys/disk.ts';
import { rememberHeads, type LackedHead } from '../../src/store/file/copies.ts';
import type { NamedHead } from '../../src/store/file/heads.ts';
import { openReader } from '../../src/store/sqlite/store.ts';
import { storeFiles } from '../../src/store/file/paths.ts';
import { contradiction, identitiesOf, reportIn } from './adopt.ts';
import { PlaneLog } from './meter-log.ts';
import { outboxFile, readOutbox } from './outbox.ts';
import { identityOf, meteringLog } from './maker.ts';

/** Returns the Ed25519 public keys of the trust file: present and former keys of the log. */
export function trustedKeys(dataDir: string): Buffer[] {
  const path = join(dataDir, 'trust');
  if (!existsSync(path)) return [];
  return parseTrust(readFileSync(path, 'utf8'))
    .keys.filter(({ algorithm }) => algorithm === 'ed25519')
    .map(({ publicKey }) => Buffer.from(publicKey));
}

/** Returns the reports with the largest tree: those in the outbox, and the known one at the service. */
function largestReports(dataDir: string, epoch: number): string[] {
  if (!existsSync(outboxFile(dataDir))) return [];
  try {
    const outbox = readOutbox(dataDir);
    try {
      const { held, heldReason } = outbox.held.known();
      const isOurs = held !== null && heldReason?.startsWith('rolled_back') === true;
      const largest = outbox.held.largest(epoch)?.body;
      return [...(isOurs ? [held] : []), ...(largest === undefined ? [] : [largest])];
    } finally {
      outbox.close();
    }
  } catch (error) {
    if (error instanceof GovError && error.code === 'STORAGE_FAULT') return []; // which health tells of
    throw error;
  }
}

/** Returns the heads of this directory's logs in its own telemetry.db that its keys signed. */
export function reportedHeads(dataDir: string): NamedHead[] {
  const project = projectOf(readPlaneFile(join(dataDir, 'plane.json')));
  const { epoch } = meteringLog(project);
  const bodies = largestReports(dataDir, epoch);
  if (bodies.length === 0) return [];
  const identity = identityOf({ project, signers: readKeys(dataDir).signers });
  const identities = identitiesOf(identity, trustedKeys(dataDir));
  return bodies.flatMap((body): NamedHead[] => {
    const report = reportIn(body);
    if (report === null || report.log.epoch !== epoch || checkReportBy(report, identities) !== null)
      return [];
    return [reportedHead(report), reportedAuditHead(report)].map(({ origin, size, root }) => ({
      origin,
      size,
      root: Buffer.from(root),
    }));
  });
}

/**
 * CONFLICT where a log of the directory lacks a reported head. With `remember`, its heads file records the
 * head. Then no process signs the log again, and `gov log recover` accepts it. Cost: nothing without
 * telemetry.db, otherwise about 5 ms at a start.
 */
export async function holdToReported(dataDir: string, { remember }: { remember: boolean }): Promise<void> {
  const isThere = existsSync(storeFiles(dataDir).main);
  const lacked = isThere ? await lackedHeads(dataDir, reportedHeads(dataDir)) : [];
  const [first] = lacked;
  if (first === undefined) return;
  if (remember) rememberHeads(dataDir, lacked);
  const detail =
    `telemetry.db has a report ${first.fault}: the database is an older copy, and signing from it would make a second ` +
    'history; restore the newest one, or, where none is left, begin a new log with gov log recover';
  throw new GovError('CONFLICT', detail, { extensions: { origin: first.origin } });
}

/** Returns the heads that the logs of a directory lack. A process may serve the directory. */
async function lackedHeads(
  dataDir: string,
  heads: readonly NamedHead[],
): Promise<(LackedHead & { readonly fault: string })[]> {
  if (heads.length === 0) return [];
  const { projectId, meteringOrigin } = projectOf(readPlaneFile(join(dataDir, 'plane.json')));
  const reader = openReader(storeFiles(dataDir).main);
  const lacked: (LackedHead & { readonly fault: string })[] = [];
  try {
    const log = new PlaneLog(reader, projectId);
    for (const head of heads) {
      const tree = head.origin === meteringOrigin ? 'metering' : 'audit';
      const fault = await contradiction(log, tree, { ...head, extensions: [] });
      if (fault !== null) lacked.push({ ...head, have: (await log.head(tree)).size, fault });
    }
    return lacked;
  } finally {
    reader.close();
  }
}

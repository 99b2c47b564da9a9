/**
 * Exports usage reports to a file and imports receipts, for a plane without a connection to its service.
 * Messages and receipts are lines of JSON (contract) with the bytes that the network would carry. Both work
 * with or without a serving plane. Proven by `test/plane/telemetry/by-file.long.test.ts`.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { GovError } from '../../src/contract/problems.ts';
import type { Message, NewestReport, Receipt } from '../../src/contract/telemetry.ts';
import { now, randomBytes } from '../../src/host/process/clock.ts';
import { readPlaneFile } from '../../src/host/data/config.ts';
import { readKeys } from '../../src/host/keys/disk.ts';
import { openOwn } from '../../src/service/log/checkpoints.ts';
import { openReader } from '../../src/store/sqlite/store.ts';
import { storeFiles } from '../../src/store/file/paths.ts';
import { answerChallenge } from './attest.ts';
import { readTelemetrySettings, requireEnrolment, type Enrolment } from '../service/enrolment.ts';
import { signedHeaders } from '../service/link.ts';
import { openOutbox, outboxFile, readOutbox, type Outbox, type StoredReport } from './outbox.ts';
import { newestIn, takeNewest } from './adopt.ts';
import { makeReports, type Maker } from './report.ts';
import { holdToReported, trustedKeys } from './reported.ts';
import { settleAnswer, settleReport } from './settle.ts';

export interface FileCarrier {
  readonly maker: Maker;
  close(): void;
}

/** Opens the files of a plane to make messages. A process may serve the plane meanwhile. */
export const openMaker = (dataDir: string): FileCarrier => openMakerOf(dataDir, requireEnrolment(dataDir));

/** Does the same with an enrolment that may not be stored yet. */
function openMakerOf(dataDir: string, enrolment: Enrolment): FileCarrier {
  const file = readPlaneFile(join(dataDir, 'plane.json'));
  const { projectId } = file;
  const reader = openReader(storeFiles(dataDir).main);
  const outbox = openOutbox(dataDir);
  const maker: Maker = {
    enrolment,
    outbox,
    project: { ...file, auditOrigin: file.origin },
    reader,
    signers: readKeys(dataDir).telemetrySigners,
    // This signs nothing: the plane's last signature is at most a second old.
    signedSize: async (tree) => {
      const note = await reader.newestCheckpoint(projectId, tree);
      return note === null ? 0 : openOwn(note).size;
    },
    now,
    randomBytes,
    formerKeys: () => trustedKeys(dataDir),
  };
  const close = (): void => {
    outbox.close();
    reader.close();
  };
  return { maker, close };
}

/**
 * Continues after the newest report that a file from the service names (`adopt.ts`). Returns the reason where
 * the log lacks that report and the plane stops reporting. Otherwise returns null.
 */
export async function goOnBehind(
  dataDir: string,
  enrolment: Enrolment,
  newest: NewestReport,
): Promise<string | null> {
  const { maker, close } = openMakerOf(dataDir, enrolment);
  try {
    await takeNewest(maker, newest);
    const { heldReason } = maker.outbox.held.known();
    if (heldReason?.startsWith('rolled_back') === true) await signNoMore(dataDir);
    return heldReason;
  } finally {
    close();
  }
}

/** Records the head in heads.db, where the serving process finds it before it signs again. */
async function signNoMore(dataDir: string): Promise<void> {
  try {
    await holdToReported(dataDir, { remember: true });
  } catch (error) {
    // A conflict is the expected result.
    if (!(error instanceof GovError) || error.code !== 'CONFLICT') throw error;
  }
}

const signedWaitMs = 1500;

/**
 * Waits until a serving plane signs its records, within a second. Without one, the last signature is final.
 */
export async function untilSigned({ reader, project, signedSize }: Maker): Promise<void> {
  const { size } = await reader.head(project.projectId, 'metering');
  const untilMs = performance.now() + signedWaitMs;
  while ((await signedSize('metering')) < size && performance.now() < untilMs) await delay(50);
}

/**
 * Makes a report up to now, then yields all that waits: answers to challenges, then reports in order. Marks
 * each as handed over before it yields it, and yields it again until a receipt comes. CONFLICT where the mode
 * is `off`, NOT_FOUND where the plane is not enrolled.
 */
export async function* exportUsage(dataDir: string): AsyncGenerator<Message> {
  if (readTelemetrySettings(dataDir).mode === 'off') {
    const detail =
      'expected a plane that reports usage, but its mode is off; set mode to manual-file in telemetry.json';
    throw new GovError('CONFLICT', detail);
  }
  const { maker, close } = openMaker(dataDir);
  const { outbox, enrolment } = maker;
  const planeId = enrolment.dataPlaneId;
  try {
    await untilSigned(maker);
    const newest = outbox.newest(planeId);
    if (newest === null || newest.treeSize < (await maker.signedSize('metering'))) await makeReports(maker);
    for (let each = outbox.openChallenge(planeId); each !== null;) {
      const made = await answerChallenge(maker, each);
      const { challengeId } = each;
      if ('answer' in made) yield { challengeId, ...messageOf(maker, 'attestation', made.answer) };
      else {
        const reason = `not answered: ${made.refused}`;
        outbox.settleChallenge(planeId, challengeId, {
          state: 'refused',
          receipt: null,
          reason,
          atMs: now(),
        });
      }
      each = outbox.openChallenge(planeId, challengeId);
    }
    for (const report of outbox.reports(planeId, { queued: true })) {
      outbox.hand(report);
      yield messageOf(maker, 'usage', report.body);
    }
  } finally {
    close();
  }
}

function messageOf({ enrolment, now: clock }: Maker, kind: Message['kind'], body: string): Message {
  const headers = signedHeaders(enrolment.current, body, clock());
  return {
    kind,
    dataPlaneId: enrolment.dataPlaneId,
    timestamp: headers['x-telemetry-timestamp'],
    signature: headers['x-telemetry-signature'],
    body,
  };
}

export interface ImportedReceipts {
  readonly accepted: number;
  readonly refused: number;
  /** Challenges in the file. The next export answers them. */
  readonly challenges: number;
  /** Receipts for unknown messages, or for messages to send again. */
  readonly unsettled: number;
  /** Why the plane stops reporting: the service holds a report that this log lacks. */
  readonly held: string | null;
}

/** Imports receipts. VALIDATION_ERROR for an invalid line; the lines before it are already imported. */
export async function takeReceipts(dataDir: string, lines: Iterable<string>): Promise<ImportedReceipts> {
  const enrolment = requireEnrolment(dataDir);
  const { newest, ...counts } = settleLines(dataDir, enrolment, lines);
  const held = newest === null ? null : await goOnBehind(dataDir, enrolment, newest);
  return { ...counts, held };
}

function settleLines(
  dataDir: string,
  enrolment: Enrolment,
  lines: Iterable<string>,
): Omit<ImportedReceipts, 'held'> & { readonly newest: NewestReport | null } {
  const outbox = openOutbox(dataDir);
  const settling = { outbox, enrolment, now };
  const planeId = enrolment.dataPlaneId;
  const openBefore = outbox.summary(planeId, 0).challenges.open;
  const counts = { accepted: 0, refused: 0, unsettled: 0 };
  let answered = 0;
  let newest: NewestReport | null = null;
  try {
    for (const [at, line] of [...lines].entries()) {
      if (line.trim() === '') continue;
      const { kind, id, status, answer, newest: told } = receiptOf(line, at + 1);
      const message = { status, headers: {}, body: answer };
      const report = kind === 'usage' ? outbox.report(planeId, id) : null;
      const challenge = kind === 'attestation' ? outbox.challenge(planeId, id) : null;
      const verdict =
        report !== null
          ? settleReport(settling, report, message)
          : challenge !== null
            ? settleAnswer(settling, challenge, message)
            : null;
      if (verdict !== null && verdict.kind !== 'unsettled' && challenge?.state === 'open') answered += 1;
      counts[verdict?.kind ?? 'unsettled'] += 1;
      if (report !== null && verdict?.kind === 'refused') newest = newestIn(200, told) ?? newest;
    }
    const challenges = outbox.summary(planeId, 0).challenges.open - openBefore + answered;
    return { ...counts, challenges, newest };
  } finally {
    outbox.close();
  }
}

function receiptOf(line: string, number: number): Receipt {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    // said below
  }
  if (typeof value === 'object' && value !== null) {
    const { kind, id, status } = value as Partial<Receipt>;
    const isKnown = kind === 'usage' || kind === 'attestation';
    if (isKnown && typeof id === 'string' && Number.isInteger(status) && 'answer' in value)
      return value as Receipt;
  }
  throw new GovError('VALIDATION_ERROR', `line ${number}: expected a receipt {kind, id, status, answer}`);
}

/**
 * Yields the exact bytes of waiting messages, of the newest sent message with its receipt, or of all; oldest
 * first.
 */
export function* shownMessages(dataDir: string, what: 'pending' | 'last' | 'all'): Generator<string> {
  const { dataPlaneId: planeId } = requireEnrolment(dataDir);
  if (!existsSync(outboxFile(dataDir))) return;
  const outbox = readOutbox(dataDir);
  try {
    if (what === 'pending') return yield* pending(outbox, planeId);
    const last = outbox.lastHanded(planeId);
    const reports = what === 'all' ? outbox.reports(planeId, { queued: false }) : last === null ? [] : [last];
    for (const report of reports) yield* exchanged(outbox, report);
  } finally {
    outbox.close();
  }
}

function* pending(outbox: Outbox, planeId: string): Generator<string> {
  for (let each = outbox.openChallenge(planeId); each !== null;) {
    if (each.answer !== null) yield each.answer;
    each = outbox.openChallenge(planeId, each.challengeId);
  }
  for (const { body } of outbox.reports(planeId, { queued: true })) yield body;
}

/** Yields a report, its receipt, and the answers to its challenges with their receipts. */
function* exchanged(outbox: Outbox, { planeId, reportId, body, receipt }: StoredReport): Generator<string> {
  yield body;
  if (receipt !== null) yield receipt;
  for (const { answer, receipt: settled } of outbox.challengesOf(planeId, reportId)) {
    if (answer !== null) yield answer;
    if (settled !== null) yield settled;
  }
}

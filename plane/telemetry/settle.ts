/**
 * Interprets a response of the service to a message, from the network or from a file. The message is accepted
 * or refused permanently, stored durably before the call returns, or must be sent again. The plane trusts
 * nothing in a response. It verifies a cosignature with the key of the enrolment. Proven by
 * `test/plane/telemetry/sender.test.ts`.
 */
import { limits } from '../../src/contract/limits.ts';
import type { UsageReport } from '../../src/contract/telemetry.ts';
import { joinNote, openNote, parseVerifierKey, splitNote } from '../../src/core/note/signed.ts';
import { retryAfter } from '../../src/client/errors.ts';
import { challengeIn } from './attest.ts';
import type { Enrolment } from '../service/enrolment.ts';
import { problemOf } from '../service/link.ts';
import type { Outbox, StoredChallenge, StoredReport } from './outbox.ts';

/** The response of a link, which is also the content of a receipt. */
export interface ServiceAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export type Verdict =
  | { readonly kind: 'accepted'; readonly warning: string | null }
  | { readonly kind: 'refused'; readonly reason: string }
  | UnsettledMessage;

/** The message must be sent again. */
export interface UnsettledMessage {
  readonly kind: 'unsettled';
  /**
   * Begins with one of these words: `unreachable`, `clock_skew`, `credential_refused`, `redirected`,
   * `answered`.
   */
  readonly failure: string;
  readonly retryAfterSeconds: number;
}

export interface SettleContext {
  readonly outbox: Outbox;
  readonly enrolment: Enrolment;
  readonly now: () => number;
}

const refusedReports: ReadonlySet<string> = new Set(['REPORT_INVALID', 'REPORT_CONFLICT']);

/** Settles a usage report. */
export function settleReport(
  { outbox, enrolment, now }: SettleContext,
  report: StoredReport,
  answer: ServiceAnswer,
): Verdict {
  const atMs = now();
  const receipt = answer.body === null ? null : JSON.stringify(answer.body);
  const problem = problemOf(answer);
  if (answer.status === 400 && problem !== null && refusedReports.has(problem.code)) {
    const reason = sentence(problem);
    outbox.settle(report, { state: 'refused', receipt, reason, atMs }, null);
    const isBehind = problem.code === 'REPORT_CONFLICT' || problem.body['reason'] === 'history_regressed';
    if (isBehind) outbox.held.ask({ isBehind });
    return { kind: 'refused', reason };
  }
  const accepted = acceptedOf(answer, report.reportId);
  if (accepted === null) return unsettled(answer, atMs);
  const isMissing = accepted.cosignature === '' && outbox.held.isWhole(report);
  const warning = isMissing
    ? receiptMissing
    : receiptFault(report, accepted.cosignature, enrolment.cosignerKey);
  if (isMissing && report.settledMs === null) outbox.held.ask({ isBehind: false });
  const challenge = challengeIn(accepted.challenge);
  const kept = challenge && { challengeId: challenge.challengeId, text: JSON.stringify(challenge) };
  outbox.settle(report, { state: 'accepted', receipt, reason: warning, atMs }, kept);
  return { kind: 'accepted', warning };
}

const receiptMissing =
  'receipt_missing: the service took the report without a cosignature, although it took all before it; what it lost is ' +
  'sent again where it says so: ask who runs it';

function acceptedOf(
  { status, body }: ServiceAnswer,
  reportId: string,
): { readonly cosignature: string; readonly challenge: unknown } | null {
  if (status !== 202 || typeof body !== 'object' || body === null) return null;
  const { reportId: named, cosignature, attestation } = body as Record<string, unknown>;
  if (named !== reportId || typeof cosignature !== 'string') return null;
  const challenge =
    typeof attestation === 'object' && attestation !== null && 'challenge' in attestation
      ? attestation.challenge
      : null;
  return { cosignature, challenge };
}

/**
 * Says what is wrong with the cosignature of a report's checkpoint, or returns null. An empty cosignature
 * means that the service lacks an earlier report. The cosignature of a later report covers this tree.
 */
function receiptFault(
  report: Pick<StoredReport, 'body'>,
  cosignature: string,
  cosignerKey: string,
): string | null {
  if (cosignature === '') return null;
  try {
    const { log } = JSON.parse(report.body) as UsageReport; // made by this plane
    const line = cosignature.endsWith('\n') ? cosignature : `${cosignature}\n`;
    openNote(joinNote(splitNote(log.checkpoint).text, [line]), [parseVerifierKey(cosignerKey)]);
    return null;
  } catch (error) {
    return `receipt_invalid: the cosignature does not verify: ${messageOf(error)}`;
  }
}

/** Statuses by which the service refuses an attestation permanently. */
const refusedAnswers: ReadonlySet<number> = new Set([400, 403, 404, 422]);

/** Settles the answer to a challenge. */
export function settleAnswer(
  { outbox, now }: SettleContext,
  challenge: StoredChallenge,
  answer: ServiceAnswer,
): Verdict {
  const { planeId, challengeId } = challenge;
  const atMs = now();
  const receipt = answer.body === null ? null : JSON.stringify(answer.body);
  const problem = problemOf(answer);
  if (answer.status === 200 && isVerified(answer.body, challengeId)) {
    outbox.settleChallenge(planeId, challengeId, { state: 'answered', receipt, reason: null, atMs });
    return { kind: 'accepted', warning: null };
  }
  if (problem === null || !refusedAnswers.has(answer.status)) return unsettled(answer, atMs);
  const reason = sentence(problem);
  outbox.settleChallenge(planeId, challengeId, { state: 'refused', receipt, reason, atMs });
  return { kind: 'refused', reason };
}

const isVerified = (body: unknown, challengeId: string): boolean =>
  typeof body === 'object' &&
  body !== null &&
  'challengeId' in body &&
  body.challengeId === challengeId &&
  'status' in body &&
  body.status === 'verified';

function sentence({ code, detail, body }: NonNullable<ReturnType<typeof problemOf>>): string {
  const { reason } = body;
  return `${code}${typeof reason === 'string' ? ` (${reason})` : ''}: ${detail}`.slice(0, 1000);
}

function unsettled(answer: ServiceAnswer, nowMs: number): UnsettledMessage {
  const asked = retryAfter(answer.headers['retry-after'], Date.parse(answer.headers['date'] ?? '')) ?? 0;
  const retryAfterSeconds = Math.min(asked, limits.telemetryRetryAfterSeconds);
  return { kind: 'unsettled', failure: failureOf(answer, nowMs), retryAfterSeconds };
}

/** Says why a response gives no final result. */
export function failureOf(answer: ServiceAnswer, nowMs: number): string {
  const { status, headers } = answer;
  const problem = problemOf(answer);
  if (problem?.code === 'TIMESTAMP_OUT_OF_RANGE') return skew(problem.body['serverTime'], nowMs);
  if (status === 401) {
    const what = problem === null ? `HTTP status ${status}` : sentence(problem);
    return `credential_refused: ${what}; rotate with gov plane rotate-credentials, or enrol again with a token for this data plane (gov planes token, at the service)`;
  }
  if (status >= 300 && status < 400) {
    const to = (headers['location'] ?? 'nowhere').slice(0, 200);
    return `redirected: to ${to} (status ${status}), which is not followed; set the service's own address`;
  }
  const what =
    problem === null ? `HTTP status ${status}, which is no answer of a service` : sentence(problem);
  return `answered: ${what}`;
}

function skew(serverTime: unknown, nowMs: number): string {
  if (typeof serverTime !== 'number' || !Number.isSafeInteger(serverTime)) return 'clock_skew: set the clock';
  const seconds = Math.round(nowMs / 1000) - serverTime;
  const way = seconds < 0 ? 'behind' : 'ahead of';
  const there = new Date(serverTime * 1000).toISOString();
  return `clock_skew: this clock is ${Math.abs(seconds)} s ${way} the service, where it is ${there}; set the clock`;
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

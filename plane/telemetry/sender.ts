/**
 * Sends the messages of the outbox one at a time and in order, answers to challenges first. An answer without
 * a result does not delay reports. The sender asks for the newest report at the service after each enrolment,
 * and after a refusal in favour of another report (`adopt.ts`). The service may be away for months. Attempts
 * back off from 1 s to 5 min with full jitter, so that planes do not return at the same time, and respect
 * Retry-After. The backoff also applies where the service refuses adopted reports again. A message without a
 * result stays unchanged. Proven by `test/plane/telemetry/sender.test.ts` and
 * `test/plane/telemetry/refused.test.ts`.
 */
import { limits } from '../../src/contract/limits.ts';
import type { UsageReport } from '../../src/contract/telemetry.ts';
import { backoffMs, type Backoff } from '../../src/core/backoff.ts';
import type { Log } from '../../src/service/call/log.ts';
import { askedFor, newestIn, takeNewest } from './adopt.ts';
import { answerChallenge, challengeIn } from './attest.ts';
import type { LinkAnswer, LinkMessage } from '../service/link.ts';
import type { OutboxReport, StoredChallenge, StoredReport } from './outbox.ts';
import { reportTime, type Maker } from './maker.ts';
import { makeReports } from './report.ts';
import {
  failureOf,
  messageOf,
  settleAnswer,
  settleReport,
  type UnsettledMessage,
  type Verdict,
} from './settle.ts';

/** Number of reports to mark together as handed over. Each mark syncs the disk. */
const handedAhead = 15;
/** Interval at which the outbox stores the time of the last contact while all is well. */
const notedMs = 10_000;
const backoff: Backoff = {
  firstMs: limits.telemetryBackoffMs,
  mostMs: limits.telemetryBackoffMaxMs,
  jitter: 1,
};

export interface SenderOptions {
  readonly maker: Maker;
  readonly send: (message: LinkMessage) => Promise<LinkAnswer>;
  /** In [0, 1): spreads the waits. */
  readonly random: () => number;
  readonly log: Log;
}

export class Sender {
  readonly #options: SenderOptions;
  readonly #planeId: string;
  #settled = 0;
  #failures = 0;
  #nextMs = 0;
  #notedMs = 0;
  #isStopped = false;
  #failing: string | null;
  /** Adoptions after a refusal, since the service last accepted a message. */
  #adoptions = 0;
  /** Messages without a result, by challenge or `newest`, with the time of the attempt. */
  readonly #putOff = new Map<string, number>();

  constructor(options: SenderOptions) {
    this.#options = options;
    const { outbox, enrolment } = options.maker;
    this.#planeId = enrolment.dataPlaneId;
    this.#failing = outbox.contact().failure;
  }

  /** After this call a message without a response is not a failure. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Number of messages with a final result. */
  get settled(): number {
    return this.#settled;
  }

  /** Time of the next attempt in Unix milliseconds. 0 means at once. */
  get nextMs(): number {
    return this.#nextMs;
  }

  /**
   * Sends the next message. True where it got a final result, so that the next one may follow at once. False
   * where none waits, the next attempt is not due, or this one failed. Records a failure. Only the outbox
   * throws.
   */
  async step(): Promise<boolean> {
    const { maker } = this.#options;
    // A clock that was set back must not silence the plane.
    const waitMs = this.#nextMs - maker.now();
    if (waitMs > 0 && waitMs <= longestWaitMs) return false;
    const report = maker.outbox.next(this.#planeId);
    if (this.#isToAsk(report)) return this.#ask();
    const challenge = this.#nextChallenge();
    if (challenge !== null) return this.#answer(challenge);
    if (report === null || maker.outbox.held.known().heldReason?.startsWith('rolled_back') === true)
      return false;
    if (this.#isAhead(report)) return this.#remake(report);
    if (!report.handed) maker.outbox.hand(report, handedAhead);
    const message = { path: '/telemetry/usage', canonical: report.body };
    return this.#exchange(message, (answer) => settleReport(maker, report, answer), told(report));
  }

  /**
   * Whether to ask for the service's newest report and clock before sending a message that depends on them.
   */
  #isToAsk(report: StoredReport | null): boolean {
    const { maker } = this.#options;
    if (this.#isPutOff('newest')) return false;
    if (maker.outbox.held.known().askedFor !== askedFor(maker)) return true;
    const isLater = report !== null && report.periodEndMs > maker.now() + aheadMs;
    return isLater && maker.clockAheadMs?.() === null;
  }

  async #ask(): Promise<boolean> {
    const { maker, send, log } = this.#options;
    this.#putOff.set('newest', maker.now());
    let answer: LinkAnswer;
    try {
      answer = await send({ method: 'GET', path: '/telemetry/reports/newest', canonical: '' });
    } catch (error) {
      return this.#unreached(error);
    }
    const newest = newestIn(answer.status, answer.body);
    if (newest === null) {
      const reason = failureOf(answer, maker.now());
      log.warn({ reason }, 'the service does not say which report it holds; reports are sent as they are');
      return true;
    }
    this.#reached();
    const { isBehind } = maker.outbox.held.known();
    let isAgain = false;
    try {
      if (await takeNewest(maker, newest)) {
        if (isBehind) isAgain = ++this.#adoptions > 1;
        await makeReports(maker);
      }
      this.#putOff.delete('newest');
    } catch (error) {
      log.error({ err: error }, 'the reports at the service could not be compared with the log');
    }
    const { heldReason } = maker.outbox.held.known();
    if (heldReason !== null) log.error({ reason: heldReason }, 'usage is not reported; recording goes on');
    if (isAgain) this.#failed({ kind: 'unsettled', failure: refusedAgain, retryAfterSeconds: 0 });
    return !isAgain;
  }

  /**
   * Whether a report ends too far in the future for the service, because the clock was ahead. An empty period
   * ends with the period before, and no later report changes that.
   */
  #isAhead({ periodEndMs, handed, body }: StoredReport): boolean {
    const { maker } = this.#options;
    const ahead = maker.clockAheadMs?.() ?? null;
    if (ahead === null) return false;
    const latestMs = maker.now() - ahead + (handed ? limits.futureSkewSeconds * 1000 : aheadMs);
    if (periodEndMs <= latestMs) return false;
    const { periodStart, periodEnd } = JSON.parse(body) as UsageReport; // made by this plane
    return periodStart !== periodEnd;
  }

  async #remake({ epoch, sequence }: StoredReport): Promise<boolean> {
    const { maker, log } = this.#options;
    log.warn({ epoch, sequence }, 'the plane makes again the reports that it made while its clock was ahead');
    const reason = 'replaced: it was made while the clock was ahead, and the service did not take it';
    maker.outbox.held.remake(this.#planeId, epoch, sequence, reason);
    try {
      await makeReports(maker);
    } catch (error) {
      log.error({ err: error }, 'reports cannot be made now');
      return false;
    }
    return true;
  }

  /** Skips challenges that recently failed, so that they delay nothing, and expired challenges. */
  #nextChallenge(): StoredChallenge | null {
    const { outbox } = this.#options.maker;
    let challenge = outbox.openChallenge(this.#planeId);
    while (challenge !== null) {
      if (!this.#isExpired(challenge) && !this.#isPutOff(challenge.challengeId)) return challenge;
      challenge = outbox.openChallenge(this.#planeId, challenge.challengeId);
    }
    return null;
  }

  #isPutOff(what: string): boolean {
    const putOffMs = this.#putOff.get(what);
    const nowMs = this.#options.maker.now();
    return putOffMs !== undefined && Math.abs(nowMs - putOffMs) <= limits.telemetryBackoffMaxMs;
  }

  /** Settles a challenge that had expired at the last contact. The plane tried it until then. */
  #isExpired({ planeId, challengeId, challenge }: StoredChallenge): boolean {
    const { maker, log } = this.#options;
    const asked = challengeIn(JSON.parse(challenge));
    const atMs = reportTime(maker);
    const reachedMs = Math.min(maker.outbox.contact().reachedMs ?? 0, atMs);
    if (asked === null || reachedMs <= Date.parse(asked.expiresAt)) return false;
    const reason = `expired: the service was to be answered by ${asked.expiresAt}, and no answer was settled`;
    log.error({ challengeId, reason }, 'a challenge of the service was not answered in time');
    maker.outbox.settleChallenge(planeId, challengeId, { state: 'refused', receipt: null, reason, atMs });
    this.#putOff.delete(challengeId);
    return true;
  }

  async #answer(challenge: StoredChallenge): Promise<boolean> {
    const { maker, log } = this.#options;
    const { planeId, challengeId } = challenge;
    this.#putOff.set(challengeId, maker.now());
    const made = await answerChallenge(maker, challenge).catch((error: unknown) => {
      log.error({ err: error, challengeId }, 'a challenge cannot be answered now');
      return null;
    });
    if (made === null) return true;
    if ('refused' in made) {
      const reason = `not answered: ${made.refused}`;
      const settled = { state: 'refused', receipt: null, reason, atMs: maker.now() } as const;
      log.error({ challengeId, reason }, 'a challenge of the service was refused');
      return maker.outbox.settleChallenge(planeId, challengeId, settled);
    }
    const message = { path: `/telemetry/attestations/${challengeId}`, canonical: made.answer };
    const settle = (answer: LinkAnswer): Verdict | { readonly kind: 'put off' } => {
      const verdict = settleAnswer(maker, challenge, answer);
      if (verdict.kind !== 'unsettled') this.#putOff.delete(challengeId);
      else log.warn({ challengeId, reason: verdict.failure }, 'an answer is put off; reports go on');
      // A cause that blocks this answer may let reports through. If not, the reports show it.
      return verdict.kind === 'unsettled' ? { kind: 'put off' } : verdict;
    };
    return this.#exchange(message, settle, { challengeId });
  }

  async #exchange(
    message: LinkMessage,
    settle: (answer: LinkAnswer) => Verdict | { readonly kind: 'put off' },
    about: Readonly<Record<string, unknown>>,
  ): Promise<boolean> {
    const { send, log } = this.#options;
    let answer: LinkAnswer;
    try {
      answer = await send(message);
    } catch (error) {
      return this.#unreached(error);
    }
    const verdict = settle(answer);
    if (verdict.kind === 'put off') return true;
    if (verdict.kind === 'unsettled') {
      this.#failed(verdict);
      return false;
    }
    this.#settled += 1;
    if (verdict.kind === 'accepted') this.#adoptions = 0;
    this.#reached();
    if (verdict.kind === 'refused')
      log.error({ ...about, reason: verdict.reason }, 'the service refused a message');
    else if (verdict.warning !== null)
      log.error({ ...about, reason: verdict.warning }, 'a receipt is not valid');
    return true;
  }

  #unreached(error: unknown): false {
    if (this.#isStopped) return false; // stopping closes the link
    this.#failed({ kind: 'unsettled', failure: `unreachable: ${messageOf(error)}`, retryAfterSeconds: 0 });
    return false;
  }

  #reached(): void {
    if (this.#adoptions > 1) return; // the service responds but accepts nothing: keep backing off
    const { maker, log } = this.#options;
    const nowMs = maker.now();
    if (this.#failing !== null)
      log.info({ service: maker.enrolment.service }, 'the service is reached again');
    const isNews = this.#failing !== null || Math.abs(nowMs - this.#notedMs) > notedMs;
    this.#failing = null;
    this.#failures = 0;
    this.#nextMs = 0;
    if (!isNews) return;
    this.#notedMs = nowMs;
    maker.outbox.note(null, nowMs);
  }

  #failed({ failure, retryAfterSeconds }: UnsettledMessage): void {
    const { maker, random, log } = this.#options;
    this.#failures += 1;
    // the random part comes on top, or all planes come back at the moment that the service named
    const waitMs = retryAfterSeconds * 1000 + backoffMs(backoff, this.#failures, random());
    const nowMs = maker.now();
    this.#nextMs = nowMs + waitMs;
    if (this.#failing === failure) return;
    if (this.#failing === null || wordOf(this.#failing) !== wordOf(failure)) {
      log.warn(
        { service: maker.enrolment.service, reason: failure },
        'usage is not reported; recording goes on',
      );
    }
    this.#failing = failure;
    maker.outbox.note(failure, nowMs);
  }
}

/** How far an unsent report may end ahead of the service's clock. */
const aheadMs = limits.telemetrySkewSeconds * 1000;
const longestWaitMs = Math.max(limits.telemetryBackoffMaxMs, limits.telemetryRetryAfterSeconds * 1000);
const refusedAgain =
  'answered: it refused reports that follow the newest one that it holds, one after the other, and holds them all the ' +
  'same; ask who runs the service, or what stands between';
const wordOf = (failure: string): string => failure.split(':', 1)[0] ?? '';
const told = ({ reportId, epoch, sequence }: OutboxReport) => ({ reportId, epoch, sequence });

/**
 * Sends what is in the outbox, one message at a time in order, answers to challenges first. The service may be away for
 * months: attempts back off from 1 s to 5 min with full jitter, so that planes do not come back all at once, and keep to
 * Retry-After. What cannot be settled stays as it is. Proven by `test/plane/telemetrysender.test.ts`.
 */
import { limits } from '../src/contract/limits.ts';
import type { Log } from '../src/service/log.ts';
import { answerChallenge } from './attest.ts';
import type { LinkAnswer, LinkMessage } from './link.ts';
import type { OutboxReport, StoredChallenge } from './outbox.ts';
import type { Maker } from './report.ts';
import { messageOf, settleAnswer, settleReport, type Unsettled, type Verdict } from './settle.ts';

/** Reports that are marked at once as ones that may leave: a mark is a sync of the disk. */
const handedAhead = 15;
/** How often the time of the last contact is written while all is well. */
const notedMs = 10_000;

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
  #failures = 0;
  #nextMs = 0;
  #notedMs = 0;
  #isStopped = false;
  #failing: string | null;
  /** Challenges that could not be answered, and when that was tried. */
  readonly #putOff = new Map<string, number>();

  constructor(options: SenderOptions) {
    this.#options = options;
    const { outbox, enrolment } = options.maker;
    this.#planeId = enrolment.dataPlaneId;
    this.#failing = outbox.contact().failure;
  }

  /** From now on a message that gets no answer is no failure. */
  stop(): void {
    this.#isStopped = true;
  }

  /** When the next attempt is due, in Unix milliseconds; 0 at once. */
  get nextMs(): number {
    return this.#nextMs;
  }

  /**
   * Sends the next message that waits. True where one was settled, so that the next one may follow at once; false where
   * nothing waits, the next attempt is not due, or this one failed. A failure is noted, never thrown but by the outbox.
   */
  async step(): Promise<boolean> {
    const { maker } = this.#options;
    // a clock that was set back must not silence the plane
    const waitMs = this.#nextMs - maker.now();
    if (waitMs > 0 && waitMs <= longestWaitMs) return false;
    const challenge = this.#nextChallenge();
    if (challenge !== null) return this.#answer(challenge);
    const report = maker.outbox.next(this.#planeId);
    if (report === null) return false;
    if (!report.handed) maker.outbox.hand(report, handedAhead);
    const message = { path: '/telemetry/usage', canonical: report.body };
    return this.#exchange(message, (answer) => settleReport(maker, report, answer), told(report));
  }

  /** Those that could not be answered a moment ago keep nothing else waiting. */
  #nextChallenge(): StoredChallenge | null {
    const { outbox, now } = this.#options.maker;
    let challenge = outbox.openChallenge(this.#planeId);
    while (challenge !== null) {
      const putOffMs = this.#putOff.get(challenge.challengeId);
      if (putOffMs === undefined || Math.abs(now() - putOffMs) > limits.telemetryBackoffMaxMs)
        return challenge;
      challenge = outbox.openChallenge(this.#planeId, challenge.challengeId);
    }
    return null;
  }

  async #answer(challenge: StoredChallenge): Promise<boolean> {
    const { maker, log } = this.#options;
    const { planeId, challengeId } = challenge;
    const made = await answerChallenge(maker, challenge).catch((error: unknown) => {
      log.error({ err: error, challengeId }, 'a challenge cannot be answered now');
      this.#putOff.set(challengeId, maker.now());
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
    return this.#exchange(message, (answer) => settleAnswer(maker, challenge, answer), { challengeId });
  }

  async #exchange(
    message: LinkMessage,
    settle: (answer: LinkAnswer) => Verdict,
    about: Readonly<Record<string, unknown>>,
  ): Promise<boolean> {
    const { send, log } = this.#options;
    let answer: LinkAnswer;
    try {
      answer = await send(message);
    } catch (error) {
      if (this.#isStopped) return false; // whoever stops it closes the link
      this.#failed({ kind: 'unsettled', failure: `unreachable: ${messageOf(error)}`, retryAfterSeconds: 0 });
      return false;
    }
    const verdict = settle(answer);
    if (verdict.kind === 'unsettled') {
      this.#failed(verdict);
      return false;
    }
    this.#reached();
    if (verdict.kind === 'refused')
      log.error({ ...about, reason: verdict.reason }, 'the service refused a message');
    else if (verdict.warning !== null)
      log.error({ ...about, reason: verdict.warning }, 'a receipt is not valid');
    return true;
  }

  #reached(): void {
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

  #failed({ failure, retryAfterSeconds }: Unsettled): void {
    const { maker, random, log } = this.#options;
    const mostMs = Math.min(limits.telemetryBackoffMaxMs, limits.telemetryBackoffMs * 2 ** this.#failures);
    const waitMs = Math.max(Math.ceil(random() * mostMs), retryAfterSeconds * 1000);
    this.#failures = Math.min(this.#failures + 1, 20);
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

const longestWaitMs = Math.max(limits.telemetryBackoffMaxMs, limits.telemetryRetryAfterSeconds * 1000);
const wordOf = (failure: string): string => failure.split(':', 1)[0] ?? '';
const told = ({ reportId, epoch, sequence }: OutboxReport) => ({ reportId, epoch, sequence });

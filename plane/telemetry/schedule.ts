/**
 * The telemetry of a serving plane: checks every second for due reports and messages to send. It never throws
 * into the process, and recording never waits for it. Health, metrics and the log show its failures. The
 * plane's id sets the time of its reports within the interval, so that planes report at different times. With
 * mode `off` or without an enrolment, it makes no report and contacts nobody. Proven by
 * `test/plane/telemetry/schedule.test.ts`.
 */
import { limits } from '../../src/contract/limits.ts';
import type { Environment } from '../../src/client/proxy.ts';
import { GovError } from '../../src/contract/problems.ts';
import { sha256 } from '../../src/core/hash.ts';
import { gauge } from '../../src/host/process/metrics.ts';
import type { Background } from '../../src/host/process/run.ts';
import type { Log } from '../../src/service/call/log.ts';
import type { Project } from '../../src/store/port/store.ts';
import {
  enrolmentStamp,
  readEnrolment,
  readTelemetrySettings,
  type Enrolment,
  type TelemetrySettings,
} from '../service/enrolment.ts';
import { refuseWithoutAddress, ServiceLink } from '../service/link.ts';
import { mergeReports } from './merge.ts';
import { openOutbox, type Outbox } from './outbox.ts';
import { reportTime, type Maker } from './maker.ts';
import { makeReports } from './report.ts';
import { holdToReported, trustedKeys } from './reported.ts';
import { Sender } from './sender.ts';
import { messageOf } from './settle.ts';
import { statusOf, telemetryMetrics } from './status.ts';

const lookMs = 1000;
/** Wait after a failure to make reports. */
const againMs = 60_000;
const mergeEveryMs = 24 * 3600 * 1000;

export interface TelemetryOptions extends Pick<
  Maker,
  'reader' | 'signers' | 'signedSize' | 'now' | 'randomBytes'
> {
  readonly dataDir: string;
  readonly project: Project;
  readonly env: Environment;
  readonly log: Log;
  /** In [0, 1). */
  readonly random: () => number;
  /** Timeout of one exchange. Defaults to `limits.telemetryTimeoutSeconds`. */
  readonly timeoutMs?: number;
}

/** The parts that work while the plane is enrolled and its mode is not `off`. */
interface Active {
  readonly maker: Maker;
  readonly link: ServiceLink;
  readonly sender: Sender;
  readonly settings: TelemetrySettings;
}

type Trouble = 'settings' | 'reports' | 'outbox';

export class Telemetry implements Background {
  readonly #options: TelemetryOptions;
  #outbox: Outbox | undefined;
  #active: Active | null = null;
  #stamp = '';
  /** Why files could not be read or reports could not be made. */
  #trouble: { readonly what: Trouble; readonly reason: string } | null = null;
  #againMs = 0;
  /** Time of the last attempt to read the files. */
  #triedMs = 0;
  #mergedMs = Number.NEGATIVE_INFINITY;
  /** The last held reason that the log was checked against. */
  #heldReason: string | null = null;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: TelemetryOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.look(), lookMs).unref();
  }

  /** Waits for the current message. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#active?.sender.stop();
    this.#active?.link.close();
    await this.#looking;
    this.#active = null;
    this.#outbox?.close();
    this.#outbox = undefined;
  }

  /** Does all due work, one call at a time. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#work()
      .catch((error: unknown) => this.#failed('outbox', error))
      .finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #work(): Promise<void> {
    this.#reload();
    for (let settled = true; settled && !this.#isStopped;) {
      const active = this.#active;
      if (active === null) return;
      await this.#make(active);
      settled = active.settings.mode === 'auto' && (await active.sender.step());
      await this.#holdBack(active);
      if (this.#trouble?.what === 'outbox') this.#trouble = null;
    }
  }

  /**
   * Reads the files again after one was replaced, and each minute while the files or the outbox cannot be
   * opened. The former state continues to work meanwhile.
   */
  #reload(): void {
    const { dataDir } = this.#options;
    const stamp = enrolmentStamp(dataDir);
    const nowMs = this.#options.now();
    const isAgain = this.#trouble?.what === 'settings' && Math.abs(nowMs - this.#triedMs) >= againMs;
    if (stamp === this.#stamp && !isAgain) return;
    this.#stamp = stamp;
    this.#triedMs = nowMs;
    try {
      const settings = readTelemetrySettings(dataDir);
      const enrolment = settings.mode === 'off' ? null : readEnrolment(dataDir);
      const active = enrolment === null ? null : this.#activate(enrolment, settings);
      this.#active?.link.close();
      this.#active = active;
      if (this.#trouble?.what === 'settings') this.#trouble = null;
    } catch (error) {
      this.#failed('settings', error);
    }
  }

  #activate(enrolment: Enrolment, settings: TelemetrySettings): Active {
    const { dataDir, project, env, log, random, timeoutMs, ...parts } = this.#options;
    const deadline = timeoutMs === undefined ? {} : { timeoutMs };
    this.#outbox ??= openOutbox(dataDir);
    if (settings.mode === 'auto') refuseWithoutAddress(enrolment);
    const link = new ServiceLink({ enrolment, env, now: parts.now });
    const maker: Maker = {
      ...parts,
      enrolment,
      project,
      outbox: this.#outbox,
      clockAheadMs: () => link.clockAheadMs,
      formerKeys: () => trustedKeys(dataDir),
    };
    const sender = new Sender({
      maker,
      send: (message) => link.send({ ...message, ...deadline }),
      random,
      log,
    });
    return { maker, link, sender, settings };
  }

  async #make({ maker, settings }: Active): Promise<void> {
    const nowMs = maker.now();
    const isPutOff = this.#againMs > nowMs && this.#againMs - nowMs <= againMs;
    if (isPutOff || !isDue(maker, settings)) return;
    try {
      await makeReports(maker);
      if (Math.abs(nowMs - this.#mergedMs) > mergeEveryMs) {
        this.#mergedMs = nowMs;
        await mergeReports(maker);
      }
      if (this.#trouble?.what === 'reports') this.#trouble = null;
    } catch (error) {
      this.#againMs = nowMs + againMs;
      this.#failed('reports', error);
      if (error instanceof GovError && error.code === 'STORAGE_FAULT') await this.#hold();
    }
  }

  /** Stops signing as soon as the log is known to lack a reported head. */
  async #holdBack({ maker: { outbox } }: Active): Promise<void> {
    const { heldReason } = outbox.held.known();
    if (heldReason === this.#heldReason) return;
    if (heldReason?.startsWith('rolled_back') === true) await this.#hold();
    this.#heldReason = heldReason;
  }

  async #hold(): Promise<void> {
    const { dataDir, log } = this.#options;
    await holdToReported(dataDir, { remember: true }).catch((error: unknown) => {
      log.error({ err: error }, 'nothing more of the log is signed; recording goes on');
    });
  }

  #failed(what: Trouble, error: unknown): void {
    const reason = messageOf(error);
    if (this.#trouble?.reason === reason) return;
    this.#trouble = { what, reason };
    this.#options.log.error({ err: error }, 'telemetry stands still; recording goes on');
  }

  /** Reasons for health. None of them makes the plane unready. */
  reasons(): readonly string[] {
    const trouble =
      this.#trouble === null ? [] : [`telemetry_${this.#trouble.what}: ${this.#trouble.reason}`];
    const active = this.#active;
    if (active === null) return trouble;
    const { maker, settings } = active;
    const { outbox, enrolment, now } = maker;
    const { mode } = settings;
    return [...trouble, ...statusOf(outbox, enrolment.dataPlaneId, { mode, nowMs: now() }).reasons];
  }

  metrics(): readonly string[] {
    const active = this.#active;
    if (active === null) return [];
    const { outbox, enrolment, now } = active.maker;
    const { clockAheadMs } = active.link;
    const help = 'This clock against that of the service';
    return [
      ...telemetryMetrics(outbox, enrolment.dataPlaneId, now()),
      ...(clockAheadMs === null ? [] : gauge('gov_clock_ahead_seconds', help, clockAheadMs / 1000)),
    ];
  }
}

/** Whether the plane's current interval has no report yet. True at once where there is no report at all. */
export function isDue(maker: Maker, { intervalSeconds }: TelemetrySettings): boolean {
  const { outbox, enrolment } = maker;
  const newest = outbox.newest(enrolment.dataPlaneId);
  if (newest === null) return true;
  const wanted = intervalSeconds ?? enrolment.reportIntervalSeconds;
  const intervalMs = Math.max(wanted, limits.reportIntervalLeastSeconds) * 1000;
  const offsetMs = (sha256(enrolment.dataPlaneId).readUInt32BE() / 2 ** 32) * intervalMs;
  const stretch = (ms: number): number => Math.floor((ms - offsetMs) / intervalMs);
  // Use the clock of reports: a clock that is ahead would make one report after another.
  return stretch(reportTime(maker)) !== stretch(newest.builtMs);
}

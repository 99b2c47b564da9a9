/**
 * The background task that fetches the configuration of the service every few minutes and applies it
 * (`apply.ts`). The request names the version in force, so that the service does not send it again. If the
 * service does not answer, the configuration in force stays, and health reports the reason and the time. The
 * task sends nothing if the telemetry mode is not `auto` or policies are `off`. Proven by
 * `test/plane/config/sync.test.ts` against a real service.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { GovNetworkError } from '../../src/client/errors.ts';
import type { Environment } from '../../src/client/proxy.ts';
import { build } from '../../src/client/version.ts';
import { backoffMs } from '../../src/core/backoff.ts';
import { PlaneConfigError } from '../../src/core/planes/config.ts';
import { limits } from '../../src/contract/limits.ts';
import { GovError } from '../../src/contract/problems.ts';
import { canonicalize, parseJson, type JsonObject } from '../../src/core/json/parse.ts';
import { isTooNew } from '../../src/core/planes/version.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import type { PlaneSync } from '../../src/host/data/config.ts';
import { gauge } from '../../src/host/process/metrics.ts';
import type { Background } from '../../src/host/process/run.ts';
import type { Log } from '../../src/service/call/log.ts';
import { theService, type HeldConfig } from './apply.ts';
import { enrolmentStamp, readEnrolment, readTelemetrySettings } from '../service/enrolment.ts';
import { problemOf, ServiceLink, type LinkAnswer } from '../service/link.ts';
import { isObject } from '../../src/core/json/object.ts';

export interface SyncOptions {
  readonly dataDir: string;
  readonly held: HeldConfig;
  readonly sync: PlaneSync;
  readonly env: Environment;
  readonly now: () => number;
  readonly log: Log;
}

/** Adds up to a tenth of the interval, so that planes that start together do not ask together. */
const jitter = 0.1;

/** The wait after the first failure, which doubles up to the interval. */
const retryMs = 10_000;

/** How often the plane checks for a new enrolment, in milliseconds. */
const lookMs = 2000;

interface Trouble {
  readonly what: string;
  readonly sinceMs: number;
}

export class ConfigSync implements Background {
  readonly #options: SyncOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #link: { readonly stamp: string; readonly link: ServiceLink } | null = null;
  #trouble: Trouble | null = null;
  /** How the service supports this release. */
  #support: { readonly word: string; readonly oldest: string } | null = null;
  #askedMs: number | null = null;

  constructor(options: SyncOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#link?.link.close();
    await this.#running;
  }

  /** The problems for health, each with the time since when. */
  reasons(): readonly string[] {
    const { held } = this.#options;
    const reasons: string[] = [];
    const { refused, applied } = held;
    if (refused !== null) {
      const stays = applied === null ? 'none is in force' : `version ${applied.bundleVersion} stays in force`;
      const since = formatTimestamp(refused.sinceMs);
      reasons.push(`config_bundle_refused: ${refused.reason} since ${since}; ${stays}: ${refused.detail}`);
    }
    if (held.expired !== null)
      reasons.push(`config_bundle_expired: evaluations are refused: ${held.expired}`);
    const trouble = this.#trouble;
    if (trouble !== null) {
      reasons.push(`config_bundle_not_fetched: since ${formatTimestamp(trouble.sinceMs)}: ${trouble.what}`);
    }
    if (applied !== null && this.#copyLost) {
      reasons.push('config_bundle_copy_damaged: config-bundle.json; its configuration is still in force');
    }
    const support = this.#support;
    if (support !== null && support.word !== 'supported') {
      const oldest = `the service is made for planes from ${support.oldest} on`;
      reasons.push(`plane_version_${support.word}: this plane is ${build}, and ${oldest}`);
    }
    return reasons;
  }

  metrics(): readonly string[] {
    const { applied, refused } = this.#options.held;
    return [
      ...gauge(
        'gov_config_bundle_version',
        'Configuration of the service in force; 0: none',
        applied?.bundleVersion ?? 0,
      ),
      ...gauge('gov_config_bundle_refused', '1 where the newest one is refused', refused === null ? 0 : 1),
      ...(this.#askedMs === null
        ? []
        : gauge(
            'gov_config_asked_seconds',
            'Unix time of the last answer of the service',
            this.#askedMs / 1000,
          )),
    ];
  }

  get #copyLost(): boolean {
    const { held } = this.#options;
    return held.applied !== null && !held.copyIsWhole;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    await this.#options.held.settleMode().catch((error: unknown) => this.#failed(error));
    for (let failures = 0; !signal.aborted;) {
      const stamp = enrolmentStamp(this.#options.dataDir);
      await this.attempt();
      failures = this.#trouble === null ? 0 : failures + 1;
      const intervalMs = (this.#options.sync.intervalSeconds ?? limits.configIntervalSeconds) * 1000;
      const backoff = { firstMs: retryMs, mostMs: intervalMs, jitter: 0 };
      const waitMs = failures === 0 ? intervalMs : backoffMs(backoff, failures, 0);
      const untilMs = performance.now() + waitMs * (1 + jitter * Math.random());
      // a new enrolment ends the wait
      while (!signal.aborted && performance.now() < untilMs) {
        await sleep(lookMs, null, { signal }).catch(() => null);
        if (enrolmentStamp(this.#options.dataDir) !== stamp) break;
      }
    }
  }

  /** Runs `once` and keeps a failure for health. */
  async attempt(): Promise<void> {
    await this.once().catch((error: unknown) => this.#failed(error));
  }

  #failed(error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    const { now, log } = this.#options;
    const what = error instanceof Error ? error.message : String(error);
    if (this.#trouble === null)
      log.warn({ detail: what }, 'could not fetch the configuration of the service');
    this.#trouble = { what, sinceMs: this.#trouble?.sinceMs ?? now() };
    const expected = error instanceof GovError || error instanceof GovNetworkError;
    if (!expected) log.error({ err: error }, 'unexpected error');
  }

  /** Sends one request and applies the response. PlaneConfigError is not a failure: health shows it. */
  async once(): Promise<void> {
    const { held, dataDir, now } = this.#options;
    held.checkCopy();
    if (held.mode === 'off' || readTelemetrySettings(dataDir).mode !== 'auto') return this.#quiet();
    const link = this.#linkNow();
    if (link === null) return this.#quiet();
    const { applied } = held;
    // a lost copy asks for the whole configuration
    const current = applied === null || this.#copyLost ? '' : `&current=${applied.bundleHash}`;
    const answer = await link.send({
      method: 'GET',
      path: `/telemetry/config?planeVersion=${encodeURIComponent(build)}${current}`,
      canonical: '',
      maxBytes: 2 * limits.planeConfigBytes,
    });
    const signed = this.#read(answer);
    this.#trouble = null;
    this.#askedMs = now();
    if (signed === null) return held.agreed();
    await held.take(Buffer.from(canonicalize(signed)), 'service', theService).catch((error: unknown) => {
      if (!(error instanceof PlaneConfigError)) throw error;
    });
  }

  #quiet(): void {
    this.#trouble = null;
  }

  /** The link for the present enrolment. Null where the plane is not enrolled. */
  #linkNow(): ServiceLink | null {
    const { dataDir, env, now } = this.#options;
    const stamp = enrolmentStamp(dataDir);
    if (this.#link?.stamp === stamp) return this.#link.link;
    this.#link?.link.close();
    this.#link = null;
    const enrolment = readEnrolment(dataDir);
    if (enrolment === null) return null;
    this.#link = { stamp, link: new ServiceLink({ enrolment, env, now }) };
    return this.#link.link;
  }

  /**
   * The signed configuration in a response. Null where it is the one in force. OVERLOADED or VALIDATION_ERROR
   * for other responses.
   */
  #read(answer: LinkAnswer): JsonObject | null {
    if (answer.status !== 200) {
      const problem = problemOf(answer);
      const what = problem === null ? `status ${answer.status}` : `${problem.code}: ${problem.detail}`;
      throw new GovError('OVERLOADED', `expected a configuration of the service, got ${what}`);
    }
    const body = parseJson(answer.bytes, answerBounds);
    const { signed, serviceVersion, planeSupport, oldestPlane } = body as JsonObject;
    if (typeof serviceVersion !== 'string' || signed === undefined) {
      throw new GovError('VALIDATION_ERROR', 'expected a configuration of the service, got another answer');
    }
    this.#support = { word: String(planeSupport), oldest: String(oldestPlane) };
    if (isTooNew(serviceVersion, build)) {
      const detail = `expected a service of the major version of this plane, ${build}, got ${serviceVersion}; upgrade the plane`;
      throw new GovError('VALIDATION_ERROR', detail);
    }
    return isObject(signed) ? signed : null;
  }
}

const answerBounds = {
  depth: limits.planeConfigDepth + 1,
  values: limits.planeConfigValues,
  nameChars: limits.memberNameChars,
  stringBytes: limits.stringBytes,
};

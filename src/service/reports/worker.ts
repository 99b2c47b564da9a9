/**
 * Builds queued reports, one at a time. The operation that queues one wakes it, and so do timers and cron calls.
 * Several processes may do so at once: a claim belongs to one of them, and a project has one report in work. Proven by
 * `test/service/reports/worker.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { buildReport } from './build.ts';
import { reportKind } from './stored.ts';
import type { Services } from '../dependencies.ts';

export interface Processed {
  readonly processed: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Reports that are tried again, or that another worker took. */
  readonly skipped: number;
}

/** Builds until nothing is due, `untilMs` has passed (Unix milliseconds), or `most` were built. */
export async function processReports(
  services: Services,
  { untilMs, most, isStopped = () => false }: { untilMs: number; most: number; isStopped?: () => boolean },
): Promise<Processed> {
  const { store, now } = services;
  const counts = { processed: 0, succeeded: 0, failed: 0, skipped: 0 };
  while (counts.processed < most && now() < untilMs && !isStopped()) {
    const claimed = await store.claimDocument({
      kind: reportKind,
      statuses: ['queued', 'processing'],
      nowMs: now(),
      leaseMs: limits.jobLeaseSeconds * 1000,
      becomes: 'processing',
      most: 1,
    });
    if (claimed === null) break;
    const outcome = await buildReport(services, claimed);
    counts.processed += 1;
    if (outcome === 'completed') counts.succeeded += 1;
    else if (outcome === 'failed') counts.failed += 1;
    else counts.skipped += 1;
  }
  return counts;
}

const lookEveryMs = 10_000;

export class ReportWorker {
  readonly #services: Services;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;
  /** Why nothing could be claimed: logged once, not every time. */
  #failure = '';

  constructor(services: Services) {
    this.#services = services;
  }

  /** Also looks for reports whose worker ended, and for those that are tried again. */
  start(): void {
    this.#timer = setInterval(() => this.wake(), lookEveryMs);
    this.#timer.unref();
    this.wake();
  }

  /** Looks for queued reports now. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
  }

  async #run(): Promise<void> {
    const bounds = { untilMs: Infinity, most: Infinity, isStopped: () => this.#stopped };
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        await processReports(this.#services, bounds);
      }
      this.#failure = '';
    } catch (error) {
      const isKnown = this.#failure === String(error);
      this.#failure = String(error);
      if (!this.#stopped && !isKnown) this.#services.log.error({ err: error }, 'no report could be claimed');
    }
  }

  /** Stops claiming and waits for the running report; `work.close()` ends it early. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#running;
  }
}

/**
 * Builds queued reports, one at a time. The operation that queues one wakes it, and so do timers and cron calls.
 * Several processes may do so at once: a claim belongs to one of them, and a project has one report in work. Proven by
 * `test/service/reports/worker.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { Poller } from '../call/poller.ts';
import { buildReport } from './build.ts';
import { reportKind } from './stored.ts';
import type { Services } from '../port/services.ts';

export interface ProcessedCounts {
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
): Promise<ProcessedCounts> {
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
  readonly #poller: Poller;

  constructor(services: Services) {
    const bounds = { untilMs: Infinity, most: Infinity, isStopped: () => this.#poller.isStopped };
    this.#poller = new Poller({
      everyMs: lookEveryMs,
      poll: () => processReports(services, bounds),
      log: services.log,
      failed: 'no report could be claimed',
    });
  }

  /** Also looks for reports whose worker ended, and for those that are tried again. */
  start(): void {
    this.#poller.start();
  }

  /** Looks for queued reports now. */
  wake(): void {
    this.#poller.wake();
  }

  /** Stops claiming and waits for the running report; `work.close()` ends it early. */
  stop(): Promise<void> {
    return this.#poller.stop();
  }
}

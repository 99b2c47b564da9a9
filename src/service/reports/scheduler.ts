/**
 * The scheduled work of reports (contract L15): four functions that a timer of the process runs, or calls from outside,
 * or both. All are safe at any time and twice at once. Proven by `test/service/reports/scheduler.test.ts`.
 */
import type { CronSummary } from '../../contract/cron.ts';
import { limits } from '../../contract/limits.ts';
import { formatTimestamp } from '../../core/time.ts';
import { processDeliveries } from './deliveries/due.ts';
import { deliveryKind } from './deliveries/document.ts';
import { DeliverySlots } from './deliveries/slots.ts';
import type { ScheduledWork, Services } from '../port/services.ts';
import type { Bounds, Counts } from './bounds.ts';
import { cleanupReports } from './removal.ts';
import { processSchedules } from './schedules/due.ts';
import { scheduleKind } from './schedules/stored.ts';
import { reportKind, shareKind } from './stored.ts';
import { processReports } from './worker.ts';

/** Nothing is begun in the last seconds of a call. */
const spareMs = 10_000;
const cleanupEveryMs = 600_000;

type Work = (
  services: Services,
  counts: Counts,
  bounds: Bounds & { readonly slots: DeliverySlots },
) => Promise<void>;
type Due = readonly (readonly [kind: string, statuses: readonly string[]])[];

const works: Readonly<Record<ScheduledWork, { readonly run: Work; readonly due: Due }>> = {
  schedules: { run: processSchedules, due: [[scheduleKind, ['enabled']]] },
  executions: { run: oneByOne(processReports), due: [[reportKind, ['queued', 'processing']]] },
  deliveries: { run: processDeliveries, due: [[deliveryKind, ['pending', 'processing']]] },
  cleanup: {
    run: oneByOne(cleanupReports),
    due: [
      [reportKind, ['completed']],
      [shareKind, ['active', 'revoked']],
    ],
  },
};

/** Work that counts for itself, in steps of one, so that a call that ends early knows what was done. */
function oneByOne(
  step: (
    services: Services,
    bounds: { untilMs: number; most: number },
  ) => Promise<{ processed: number; succeeded: number; failed: number; skipped: number }>,
): Work {
  return async (services, counts, bounds) => {
    while (!bounds.isOver()) {
      const done = await step(services, { untilMs: Infinity, most: 1 });
      if (done.processed === 0) return;
      counts.processed += done.processed;
      counts.succeeded += done.succeeded;
      counts.failed += done.failed;
      counts.skipped += done.skipped;
    }
  };
}

export class Scheduler {
  readonly #services: Services;
  readonly #hasTimer: boolean;
  readonly #running = new Set<Promise<unknown>>();
  readonly #slots = new DeliverySlots();
  #timer: NodeJS.Timeout | undefined;
  #isTicking = false;
  #cleanedMs = 0;
  #stopped = false;
  /** Why a part of a tick failed: logged once, not every time. */
  readonly #failures = { work: '', deliveries: '' };

  /** `hasTimer`: whether `start` starts the timer. */
  constructor(services: Services, { hasTimer }: { readonly hasTimer: boolean }) {
    this.#services = services;
    this.#hasTimer = hasTimer;
  }

  start(): void {
    if (!this.#hasTimer) return;
    this.#timer = setInterval(() => void this.#tick(), limits.schedulerSeconds * 1000);
    this.#timer.unref();
    void this.#tick();
  }

  /** Looks for due schedules and deliveries now, where the process has the timer. */
  wake(): void {
    if (this.#hasTimer && !this.#stopped) void this.#tick();
  }

  /** One tick of the timer. Schedules that are still at work leave nothing to do for the next. */
  async #tick(): Promise<void> {
    // receivers that answer late must not delay schedules
    await Promise.all([this.#tickOwn(), this.#tickDeliveries()]);
  }

  async #tickDeliveries(): Promise<void> {
    // one that waits for receivers must not keep the next one from starting; all share the slots
    if (!this.#stopped) await this.#reported('deliveries', () => this.run('deliveries'));
  }

  async #tickOwn(): Promise<void> {
    if (this.#isTicking || this.#stopped) return;
    this.#isTicking = true;
    await this.#reported('work', async () => {
      await this.run('schedules');
      // the worker of reports runs them; it waits for the next one by itself
      this.#services.wakeReports();
      const nowMs = this.#services.now();
      if (nowMs - this.#cleanedMs >= cleanupEveryMs) {
        this.#cleanedMs = nowMs;
        await this.run('cleanup');
      }
    });
    this.#isTicking = false;
  }

  async #reported(part: 'work' | 'deliveries', work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
      this.#failures[part] = '';
    } catch (error) {
      const isKnown = Object.values(this.#failures).includes(String(error));
      this.#failures[part] = String(error);
      if (!this.#stopped && !isKnown)
        this.#services.log.error({ err: error }, 'scheduled work of reports failed');
    }
  }

  /**
   * Works until nothing is due, at most `limits.cronSeconds`. What is still at work then continues by itself and counts
   * as skipped.
   */
  async run(name: ScheduledWork): Promise<CronSummary> {
    const startedAt = performance.now();
    const counts: Counts = { processed: 0, succeeded: 0, failed: 0, skipped: 0, createdIds: [] };
    const endMs = limits.cronSeconds * 1000;
    const isOver = (): boolean => this.#stopped || performance.now() - startedAt > endMs - spareMs;
    const { run, due } = works[name];
    const work = run(this.#services, counts, { isOver, slots: this.#slots });
    this.#running.add(work);
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => (timer = setTimeout(resolve, endMs - spareMs / 10)));
    try {
      await Promise.race([work, limit]);
    } finally {
      clearTimeout(timer);
      const settled = (): boolean => this.#running.delete(work);
      work.then(settled, settled);
    }
    const { processed, succeeded, failed, skipped, createdIds } = counts;
    return {
      processed,
      succeeded,
      failed,
      skipped: Math.max(skipped, processed - succeeded - failed),
      ...(name === 'schedules' ? { createdIds: createdIds.slice(0, limits.cronCreatedIds) } : {}),
      durationMs: Math.round(performance.now() - startedAt),
      nextDueAt: await this.#nextDue(due),
    };
  }

  async #nextDue(due: Due): Promise<string | null> {
    const times = await Promise.all(
      due.map(([kind, statuses]) => this.#services.store.nextDue([kind], statuses)),
    );
    const known = times.filter((ms) => ms !== null);
    return known.length === 0 ? null : formatTimestamp(Math.min(...known));
  }

  /** Begins nothing more and waits for what is at work. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await Promise.allSettled(this.#running);
  }
}

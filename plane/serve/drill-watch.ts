/**
 * Looks at the results of drills once a minute, and gives health a reason for a client of a machine whose newest drill failed,
 * or did not pass in time. Clients run drills on their own machine, so a timer that was removed is noticed here alone.
 * Proven by `test/plane/serve/drill-watch.test.ts`.
 */
import { limits } from '../../src/contract/limits.ts';
import {
  drillReasons,
  drillRun,
  drillStates,
  readDrill,
  type DrillResult,
  type DrillSchedule,
} from '../../src/core/agents/drills.ts';
import type { Log } from '../../src/service/call/log.ts';
import { Poller } from '../../src/service/call/poller.ts';
import { openLeaf } from '../../src/service/events/handlers.ts';
import type { StoreReader } from '../../src/store/port/store.ts';
import type { ReportingBackground } from './background.ts';

const everyMs = 60_000;

interface DrillWatchOptions {
  readonly projectId: string;
  readonly store: Pick<StoreReader, 'run' | 'events'>;
  readonly wanted: DrillSchedule;
  readonly now: () => number;
  readonly log: Log;
}

export class DrillWatch implements ReportingBackground {
  readonly #options: DrillWatchOptions;
  readonly #sinceMs: number;
  #seen = 0;
  #results: readonly DrillResult[] = [];
  readonly #poller: Poller;

  constructor(options: DrillWatchOptions) {
    this.#options = options;
    this.#sinceMs = options.now();
    this.#poller = new Poller({
      everyMs,
      poll: () => this.look(),
      log: options.log,
      failed: 'the results of drills could not be read',
      level: 'warn',
    });
  }

  start(): void {
    this.#poller.start();
  }

  stop(): Promise<void> {
    return this.#poller.stop();
  }

  reasons(): readonly string[] {
    const nowMs = this.#options.now();
    const states = drillStates(this.#results, nowMs);
    return drillReasons(states, this.#options.wanted, { nowMs, sinceMs: this.#sinceMs });
  }

  /** Reads the newest results, if there are new ones. */
  async look(): Promise<void> {
    const { projectId, store } = this.#options;
    const run = await store.run(projectId, drillRun);
    if (run === null || run.events === this.#seen) return;
    const page = { limit: limits.drillResults, order: 'desc' } as const;
    const leaves = await store.events(projectId, { runId: drillRun }, page);
    this.#results = leaves.flatMap((leaf) => {
      const event = openLeaf(leaf);
      const result = event === null ? null : readDrill(event);
      return result === null ? [] : [result];
    });
    this.#seen = run.events;
  }
}

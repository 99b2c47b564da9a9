/**
 * Looks at the results of drills once a minute, and gives health a reason for a client of a machine whose newest drill failed,
 * did not pass in time, or found an open way around its hooks. Clients run drills on their own machine, so a timer that was
 * removed is noticed here alone.
 * Proven by `test/plane/serve/drill-watch.test.ts`.
 */
import type { AuditEvent } from '../../src/contract/events.ts';
import { limits } from '../../src/contract/limits.ts';
import { bypassReasons, bypassType, readBypass, type BypassTrial } from '../../src/core/agents/bypasses.ts';
import {
  drillReasons,
  drillRun,
  drillStates,
  drillTypes,
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
  #bypasses: readonly BypassTrial[] = [];
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
    return [
      ...drillReasons(states, this.#options.wanted, { nowMs, sinceMs: this.#sinceMs }),
      ...bypassReasons(this.#bypasses, nowMs),
    ];
  }

  /** Reads the newest results, if there are new ones. */
  async look(): Promise<void> {
    const { projectId, store } = this.#options;
    const run = await store.run(projectId, drillRun);
    if (run === null || run.events === this.#seen) return;
    const drills = await Promise.all(drillTypes.map((type) => this.#read(type, limits.drillResults)));
    const bypasses = await this.#read(bypassType, limits.drillBypassResults);
    this.#results = drills.flat().flatMap((event) => readDrill(event) ?? []);
    this.#bypasses = bypasses.flatMap((event) => readBypass(event) ?? []);
    this.#seen = run.events;
  }

  async #read(eventType: string, limit: number): Promise<AuditEvent[]> {
    const { projectId, store } = this.#options;
    const leaves = await store.events(projectId, { runId: drillRun, eventType }, { limit, order: 'desc' });
    return leaves.flatMap((leaf) => openLeaf(leaf) ?? []);
  }
}

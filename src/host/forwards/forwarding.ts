/**
 * Copies logs to the operator's targets while the process serves. Each target and project has its own lane, and at most
 * `limits.forwardAtOnce` lanes of a target send at once, in turns. It looks at the sizes of the logs twice a second, so
 * recording does nothing for it. Proven by `test/plane/serve/forwards.long.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { LogSource } from '../../core/forwards/record.ts';
import { Poller } from '../../service/call/poller.ts';
import { Turns } from '../../service/call/turns.ts';
import type { Forwards, ForwardStatus } from '../../service/hosting/forwards.ts';
import type { Store } from '../../store/port/store.ts';
import type { ForwardTarget } from './config.ts';
import { readCursor, statusOf } from './cursor.ts';
import { Lane, type LaneOptions, type LaneStore } from './lane.ts';

const lookEveryMs = 500;
const discoverEveryMs = 30_000;
/** Reasons that health lists. */
const mostReasons = 10;

export interface ForwardingOptions extends Omit<LaneOptions, 'store' | 'isShared'> {
  readonly targets: readonly ForwardTarget[];
  readonly store: LaneStore & Pick<Store, 'sizes'>;
  /** All projects that are served now. */
  readonly projects: () => AsyncIterable<LogSource>;
}

interface Runner {
  readonly target: ForwardTarget;
  /** By project. */
  readonly lanes: Map<string, Lane>;
  readonly turns: Turns<Lane>;
}

export class ForwardService implements Forwards {
  readonly #options: ForwardingOptions;
  readonly #runners: readonly Runner[];
  readonly #sources = new Map<string, LogSource>();
  readonly #sizes = new Map<string, number>();
  readonly #pollers: readonly Poller[];

  constructor(options: ForwardingOptions) {
    this.#options = options;
    const { now, log } = options;
    this.#runners = options.targets.map((target) => ({
      target,
      lanes: new Map(),
      turns: new Turns({ atOnce: limits.forwardAtOnce, now, turn: (lane) => lane.turn() }),
    }));
    const reading = { log, failed: 'forwarding could not read the logs', level: 'warn' } as const;
    this.#pollers = [
      new Poller({ ...reading, everyMs: discoverEveryMs, poll: () => this.#discover() }),
      new Poller({ ...reading, everyMs: lookEveryMs, poll: () => this.#look() }),
    ];
  }

  start(): void {
    for (const poller of this.#pollers) poller.start();
  }

  /** Makes lanes for projects that are new, so that `from: now` starts when a project does. */
  async #discover(): Promise<void> {
    for await (const source of this.#options.projects()) {
      const { projectId } = source;
      if (this.#sources.has(projectId)) continue;
      this.#sources.set(projectId, source);
      for (const runner of this.#runners) {
        if (!isFor(runner.target, projectId)) continue;
        const { store } = this.#options;
        const lane = new Lane(runner.target, source, {
          ...this.#options,
          isShared: store.sizes !== undefined,
        });
        runner.lanes.set(projectId, lane);
        runner.turns.wake(lane);
      }
    }
  }

  async #look(): Promise<void> {
    const { store } = this.#options;
    const ids = [...this.#sources.keys()];
    const sizes =
      (await store.sizes?.(ids)) ??
      new Map(await Promise.all(ids.map(async (id) => [id, (await store.head(id, 'audit')).size] as const)));
    for (const [projectId, size] of sizes) {
      if (this.#sizes.get(projectId) === size) continue;
      this.#sizes.set(projectId, size);
      for (const { lanes, turns } of this.#runners) {
        const lane = lanes.get(projectId);
        if (lane !== undefined) turns.wake(lane);
      }
    }
  }

  async statuses(projectId: string): Promise<readonly ForwardStatus[]> {
    const { store } = this.#options;
    const { size } = await store.head(projectId, 'audit');
    const statuses: ForwardStatus[] = [];
    for (const { target, lanes } of this.#runners) {
      if (!isFor(target, projectId)) continue;
      const own = lanes.get(projectId)?.status(size) ?? null;
      const found = own === null ? await readCursor(store, projectId, target.name) : null;
      if (own !== null) statuses.push(own);
      else if (found !== null) statuses.push(statusOf(target, { cursor: found.cursor, treeSize: size }));
    }
    return statuses;
  }

  /** Reasons for health: what fails, what lags, what was lost, what the receiver refuses. */
  reasons(): readonly string[] {
    const nowMs = this.#options.now();
    const reasons: string[] = [];
    for (const { target, lanes } of this.#runners) {
      const silentMs =
        limits.forwardSilentSeconds * 1000 + (target.kind === 's3' ? target.everySeconds * 2000 : 0);
      for (const lane of lanes.values()) {
        const { failingSinceMs, behindSinceMs, cursor } = lane.trouble();
        const [lost] = cursor?.gaps ?? [];
        if (failingSinceMs !== null && nowMs - failingSinceMs >= silentMs) {
          reasons.push(
            `forward_failing: ${target.name} has taken nothing for ${seconds(nowMs - failingSinceMs)}: ${cursor?.lastError}`,
          );
        } else if (behindSinceMs !== null && nowMs - behindSinceMs >= silentMs) {
          reasons.push(
            `forward_behind: ${target.name} has been behind the log for ${seconds(nowMs - behindSinceMs)}`,
          );
        }
        if (lost !== undefined && nowMs - lost.atMs < limits.forwardLostHours * 3_600_000) {
          reasons.push(
            `forward_lost: leaves ${lost.from} to ${lost.to - 1} were pruned before ${target.name} had them`,
          );
        }
        if (reasons.length >= mostReasons) return reasons;
      }
    }
    return reasons;
  }

  /** Lines of `GET /metrics`, summed over projects: their number has no bound. */
  metrics(): readonly string[] {
    const families = metricFamilies.map(([name, type, help]) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${type}`,
    ]);
    for (const { target, lanes } of this.#runners) {
      const states = [...lanes.entries()].map(([projectId, lane]) =>
        lane.status(this.#sizes.get(projectId) ?? 0),
      );
      const sum = (value: (status: ForwardStatus) => number): number =>
        states.reduce((total, status) => total + (status === null ? 0 : value(status)), 0);
      const values = [
        sum(({ lag }) => lag),
        sum(({ records }) => records),
        sum(({ refused }) => refused),
        sum(({ state }) => (state === 'failing' ? 1 : 0)),
      ];
      values.forEach((value, at) =>
        families[at]?.push(`${metricFamilies[at]?.[0]}{target="${target.name}"} ${value}`),
      );
    }
    return families.flat();
  }

  /** Ends after the batch that is on its way. */
  async stop(): Promise<void> {
    await Promise.all(this.#pollers.map((poller) => poller.stop()));
    for (const { lanes, turns } of this.#runners) {
      await turns.stop();
      await Promise.all([...lanes.values()].map((lane) => lane.stop()));
    }
  }
}

const isFor = ({ projects }: ForwardTarget, projectId: string): boolean =>
  projects === null || projects.includes(projectId);

const seconds = (ms: number): string => `${Math.floor(ms / 1000)} s`;

const metricFamilies = [
  ['gov_forward_lag_leaves', 'gauge', 'Leaves that a forward target has not confirmed'],
  ['gov_forward_records_total', 'counter', 'Records that a forward target has confirmed'],
  ['gov_forward_refused_total', 'counter', 'Records that a forward target refuses for good'],
  ['gov_forward_failing', 'gauge', 'Logs that a forward target takes nothing of'],
] as const;

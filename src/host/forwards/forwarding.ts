/**
 * Copies logs to the operator's targets while the process serves. Each target and project has its own lane, and at most
 * `limits.forwardAtOnce` lanes of a target send at once, in turns. It looks at the sizes of the logs twice a second, so
 * recording does nothing for it. Proven by `test/plane/serve/forwards.long.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { LogSource } from '../../core/forwards/record.ts';
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

/** A lane with its place in the schedule. */
interface Scheduled {
  readonly lane: Lane;
  state: 'idle' | 'queued' | 'running' | 'timed';
  /** The log grew while the lane ran. */
  isWoken: boolean;
  timer: NodeJS.Timeout | undefined;
}

interface Runner {
  readonly target: ForwardTarget;
  readonly lanes: Map<string, Scheduled>;
  readonly queue: Scheduled[];
  readonly running: Set<Promise<void>>;
}

export class Forwarding implements Forwards {
  readonly #options: ForwardingOptions;
  readonly #runners: readonly Runner[];
  readonly #sources = new Map<string, LogSource>();
  readonly #sizes = new Map<string, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #looking = new Set<Promise<void>>();
  #isStopped = false;

  constructor(options: ForwardingOptions) {
    this.#options = options;
    this.#runners = options.targets.map((target) => ({
      target,
      lanes: new Map(),
      queue: [],
      running: new Set(),
    }));
  }

  start(): void {
    void this.#repeat(() => this.#discover(), discoverEveryMs);
    void this.#repeat(() => this.#look(), lookEveryMs);
  }

  /** Runs work now and again a while after each end. */
  async #repeat(work: () => Promise<void>, everyMs: number): Promise<void> {
    if (this.#isStopped) return;
    const looking = work().catch((error: unknown) => {
      if (!this.#isStopped) this.#options.log.warn({ err: error }, 'forwarding could not read the logs');
    });
    this.#looking.add(looking);
    await looking;
    this.#looking.delete(looking);
    if (this.#isStopped) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void this.#repeat(work, everyMs);
    }, everyMs);
    this.#timers.add(timer.unref());
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
        const scheduled: Scheduled = { lane, state: 'idle', isWoken: false, timer: undefined };
        runner.lanes.set(projectId, scheduled);
        this.#wake(runner, scheduled);
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
      for (const runner of this.#runners) {
        const scheduled = runner.lanes.get(projectId);
        if (scheduled !== undefined) this.#wake(runner, scheduled);
      }
    }
  }

  /** A lane that waits for its time stays: its receiver fails, or waits for more leaves. */
  #wake(runner: Runner, scheduled: Scheduled): void {
    scheduled.isWoken = true;
    if (scheduled.state !== 'idle') return;
    this.#queue(runner, scheduled);
  }

  #queue(runner: Runner, scheduled: Scheduled): void {
    scheduled.state = 'queued';
    runner.queue.push(scheduled);
    this.#pump(runner);
  }

  #pump(runner: Runner): void {
    while (runner.running.size < limits.forwardAtOnce && !this.#isStopped) {
      const next = runner.queue.shift();
      if (next === undefined) return;
      const turn = this.#run(runner, next);
      runner.running.add(turn);
      void turn.finally(() => {
        runner.running.delete(turn);
        this.#pump(runner);
      });
    }
  }

  async #run(runner: Runner, scheduled: Scheduled): Promise<void> {
    scheduled.state = 'running';
    scheduled.isWoken = false;
    const turn = await scheduled.lane.turn();
    scheduled.state = 'idle';
    if (this.#isStopped) return;
    if (turn.next === 'again' || (turn.next === 'wait' && scheduled.isWoken)) {
      this.#queue(runner, scheduled);
      return;
    }
    if (turn.next === 'wait') return;
    scheduled.state = 'timed';
    scheduled.timer = setTimeout(
      () => this.#queue(runner, scheduled),
      Math.max(0, turn.atMs - this.#options.now()),
    );
    scheduled.timer.unref();
  }

  async statuses(projectId: string): Promise<readonly ForwardStatus[]> {
    const { store } = this.#options;
    const { size } = await store.head(projectId, 'audit');
    const statuses: ForwardStatus[] = [];
    for (const { target, lanes } of this.#runners) {
      if (!isFor(target, projectId)) continue;
      const own = lanes.get(projectId)?.lane.status(size) ?? null;
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
      for (const { lane } of lanes.values()) {
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
      const states = [...lanes.entries()].map(([projectId, { lane }]) =>
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
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all(this.#looking);
    for (const { lanes, running } of this.#runners) {
      for (const { timer } of lanes.values()) clearTimeout(timer);
      await Promise.all(running);
      await Promise.all([...lanes.values()].map(({ lane }) => lane.stop()));
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

/**
 * What is sent to a witness when. For each log only the newest checkpoint waits, and those that proofs wait for; a witness
 * that is not there is asked again later, at most every minute. A crash loses nothing but what waited: the next checkpoint
 * is sent. Proven by `test/host/witness/client.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { SignedCheckpoint } from '../../service/log/checkpoints.ts';
import type { Outcome } from './answer.ts';
import type { WitnessConfig, WitnessesOptions } from './client.ts';
import { type AskedLog, WitnessExchange } from './exchange.ts';

/** One witness as one log sees it. */
interface Lane extends AskedLog {
  /** By size; all but the newest are wanted by proofs. */
  readonly pending: Map<number, Pending>;
  /** It is being worked on, or waits for its turn or for its time. */
  working: boolean;
  failures: number;
  /** Since when nothing was cosigned that should have been; null where all is well. */
  failingSinceMs: number | null;
  /** What the witness says against this log. */
  refused: string | null;
}

interface Pending {
  readonly signed: SignedCheckpoint;
  readonly wanted: boolean;
  readonly done: (() => void)[];
}

/** Requests to one witness at the same time. */
const atOnce = 4;

/** Asks one witness, for all logs. */
export class WitnessClient {
  readonly #witness: WitnessConfig;
  readonly #options: WitnessesOptions;
  readonly #exchange: WitnessExchange;
  readonly #lanes = new Map<string, Lane>();
  readonly #waiting: Lane[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #stopped = new AbortController();

  constructor(witness: WitnessConfig, options: WitnessesOptions) {
    this.#witness = witness;
    this.#options = options;
    this.#exchange = new WitnessExchange(witness, options, this.#stopped.signal);
  }

  /** `done` is called where this very checkpoint is cosigned; null where nobody waits for it. */
  take(projectId: string, signed: SignedCheckpoint, done: (() => void) | null): void {
    if (this.#stopped.signal.aborted) return;
    const lane = this.#laneOf(projectId);
    const { size } = signed.checkpoint;
    const there = lane.pending.get(size);
    if (there === undefined) {
      if (size === lane.cosigned) done?.();
      if (size < lane.known || size === lane.cosigned) return;
      for (const [other, { wanted }] of lane.pending) if (!wanted && other < size) lane.pending.delete(other);
      this.#dropOverflow(lane);
    }
    lane.pending.set(size, {
      signed,
      wanted: done !== null || (there?.wanted ?? false),
      done: [...(there?.done ?? []), ...(done === null ? [] : [done])],
    });
    if (lane.working) return;
    lane.working = true;
    this.#queue(lane);
  }

  #queue(lane: Lane): void {
    this.#waiting.push(lane);
    this.#startWaiting();
  }

  #laneOf(projectId: string): Lane {
    const there = this.#lanes.get(projectId);
    if (there !== undefined) return there;
    for (const [id, { working, refused }] of this.#lanes) {
      if (this.#lanes.size < limits.witnessLanes) break;
      if (!working && refused === null) this.#lanes.delete(id);
    }
    const lane: Lane = {
      projectId,
      known: 0,
      cosigned: 0,
      pending: new Map(),
      working: false,
      failures: 0,
      failingSinceMs: null,
      refused: null,
    };
    this.#lanes.set(projectId, lane);
    return lane;
  }

  /** Proofs wait for a bounded time, so their checkpoints are bounded too: the oldest go. */
  #dropOverflow({ pending }: Lane): void {
    const sizes = [...pending.keys()].toSorted((one, other) => one - other);
    for (const size of sizes.slice(0, Math.max(0, sizes.length - limits.witnessWanted))) pending.delete(size);
  }

  #startWaiting(): void {
    while (this.#running.size < atOnce) {
      const lane = this.#waiting.shift();
      if (lane === undefined) return;
      const turn = this.#turn(lane);
      this.#running.add(turn);
      void turn.finally(() => {
        this.#running.delete(turn);
        this.#startWaiting();
      });
    }
  }

  async #turn(lane: Lane): Promise<void> {
    if (!(await this.#work(lane))) return this.#queueLater(lane);
    lane.working = lane.pending.size > 0; // taken since the last look
    if (lane.working) this.#waiting.push(lane);
  }

  /** A log that is refused takes no place from the others while it waits. */
  #queueLater(lane: Lane): void {
    if (this.#stopped.signal.aborted) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#queue(lane);
    }, this.#backOffMs(lane));
    timer.unref();
    this.#timers.add(timer);
  }

  /** Sends what waits, the smallest first, since a witness never goes back; false where it has to be tried again. */
  async #work(lane: Lane): Promise<boolean> {
    while (lane.pending.size > 0) {
      const size = Math.min(...lane.pending.keys());
      const pending = lane.pending.get(size);
      if (pending === undefined || size < lane.known) {
        lane.pending.delete(size);
        continue;
      }
      const outcome = await this.#exchange.submit(lane, pending.signed).catch((error: unknown): Outcome => ({
        failed: error instanceof Error ? error.message : String(error),
      }));
      if (this.#stopped.signal.aborted || !this.#settle(lane, size, outcome)) return false;
    }
    return true;
  }

  /** False where it has to be tried again, later. */
  #settle(lane: Lane, size: number, outcome: Outcome): boolean {
    const { log, now } = this.#options;
    const { url } = this.#witness;
    if ('known' in outcome) {
      lane.known = outcome.known;
      if (outcome.known === size) {
        lane.cosigned = size;
        for (const done of lane.pending.get(size)?.done ?? []) done();
      }
      lane.pending.delete(size);
      if (lane.failingSinceMs !== null)
        log.info({ url, projectId: lane.projectId }, 'a witness cosigns again');
      lane.failures = 0;
      lane.failingSinceMs = null;
      lane.refused = null;
      return true;
    }
    lane.failures += 1;
    const refused = 'refused' in outcome ? outcome.refused : null;
    const why = 'refused' in outcome ? outcome.refused : outcome.failed;
    if (refused !== null && refused !== lane.refused) {
      log.error(
        { url, projectId: lane.projectId, why },
        'a witness refuses this log: it saw another history',
      );
    } else if (lane.failingSinceMs === null) {
      log.warn({ url, projectId: lane.projectId, why }, 'a witness does not cosign');
    }
    lane.refused = refused ?? lane.refused;
    lane.failingSinceMs ??= now();
    return false;
  }

  /** 1, 2, 4 … seconds, at most a minute, and between half and all of it. */
  #backOffMs({ failures }: Lane): number {
    const seconds = Math.min(2 ** (failures - 1), limits.witnessRetrySeconds);
    return seconds * 1000 * (0.5 + this.#options.random() / 2);
  }

  reasons(): readonly string[] {
    const nowMs = this.#options.now();
    const { url } = this.#witness;
    const lanes = [...this.#lanes.values()];
    const refusing = lanes.find(({ refused }) => refused !== null);
    if (refusing !== undefined) return [`witness_refused: ${url}: ${refusing.refused}`];
    if (this.#exchange.forgotten !== null) return [`witness_behind: ${url}: ${this.#exchange.forgotten}`];
    const silentMs = limits.witnessSilentSeconds * 1000;
    const since = lanes.map(({ failingSinceMs }) => failingSinceMs ?? nowMs);
    const longest = Math.max(0, ...since.map((ms) => nowMs - ms));
    return longest <= silentMs
      ? []
      : [`witness_silent: ${url} has not cosigned for ${Math.floor(longest / 1000)} s`];
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.allSettled(this.#running);
    this.#exchange.close();
  }
}

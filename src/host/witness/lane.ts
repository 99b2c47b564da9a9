/**
 * The schedule of requests to one witness. For each log only the newest checkpoint waits, and those that proofs
 * need. The client asks an unreachable witness again, at most every minute. A crash loses only waiting
 * checkpoints, and the next one is sent. Proven by `test/host/witness/client.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { backoffMs, type Backoff } from '../../core/backoff.ts';
import { Turns, type Turn } from '../../service/call/turns.ts';
import type { SignedCheckpoint } from '../../service/log/checkpoints.ts';
import type { Outcome } from './answer.ts';
import type { WitnessesOptions } from './options.ts';
import type { WitnessConfig } from './options.ts';
import { type AskedLog, WitnessExchange } from './exchange.ts';

/** The state of one log at one witness. */
interface Lane extends AskedLog {
  /** Waiting checkpoints by size. Proofs need all except the newest. */
  readonly pending: Map<number, PendingCheckpoint>;
  failures: number;
  /** Since when a due cosignature is missing. Null where none is. */
  failingSinceMs: number | null;
  /** The reason of the witness to refuse this log. */
  refused: string | null;
}

interface PendingCheckpoint {
  readonly signed: SignedCheckpoint;
  readonly wanted: boolean;
  readonly done: (() => void)[];
}

const backoff: Backoff = { firstMs: 1000, mostMs: limits.witnessRetrySeconds * 1000, jitter: 0.5 };

/** Concurrent requests to one witness. */
const atOnce = 4;

/** The client of one witness, for all logs. */
export class WitnessClient {
  readonly #witness: WitnessConfig;
  readonly #options: WitnessesOptions;
  readonly #exchange: WitnessExchange;
  readonly #lanes = new Map<string, Lane>();
  readonly #turns: Turns<Lane>;
  readonly #stopped = new AbortController();

  constructor(witness: WitnessConfig, options: WitnessesOptions) {
    this.#witness = witness;
    this.#options = options;
    this.#turns = new Turns({ atOnce, now: options.now, turn: (lane) => this.#turn(lane) });
    this.#exchange = new WitnessExchange(witness, options, this.#stopped.signal);
  }

  /** `done` runs once this checkpoint is cosigned. Null where nothing waits for it. */
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
    this.#turns.wake(lane);
  }

  #laneOf(projectId: string): Lane {
    const there = this.#lanes.get(projectId);
    if (there !== undefined) return there;
    for (const [id, other] of this.#lanes) {
      if (this.#lanes.size < limits.witnessLanes) break;
      if (this.#turns.isIdle(other) && other.refused === null) this.#lanes.delete(id);
    }
    const lane: Lane = {
      projectId,
      known: 0,
      cosigned: 0,
      pending: new Map(),
      failures: 0,
      failingSinceMs: null,
      refused: null,
    };
    this.#lanes.set(projectId, lane);
    return lane;
  }

  /** Bounds the checkpoints that proofs need, since proofs wait for a bounded time. Drops the oldest. */
  #dropOverflow({ pending }: Lane): void {
    const sizes = [...pending.keys()].toSorted((one, other) => one - other);
    for (const size of sizes.slice(0, Math.max(0, sizes.length - limits.witnessWanted))) pending.delete(size);
  }

  /** Delays a log that failed, so that it takes no turn from others. */
  async #turn(lane: Lane): Promise<Turn> {
    if (await this.#work(lane)) return { next: 'wait' };
    const { now, random } = this.#options;
    return { next: 'later', atMs: now() + backoffMs(backoff, lane.failures, random()) };
  }

  /**
   * Sends waiting checkpoints, the smallest first, since a witness never goes back. False where it must retry.
   */
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

  /** Applies an outcome. False where the lane must retry later. */
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
    await this.#turns.stop();
    this.#exchange.close();
  }
}

/**
 * Signs the heads of both trees of a project (docs/explanation/what-a-proof-says.md): when a proof needs one, and otherwise at most
 * every second while the log grows. Signing is serialized for each tree, so heads are never out of order, and
 * the store keeps a head durably before it is signed. At the start and once a minute, the service looks for
 * logs that an ended process left unsigned. Two processes may sign the same head: the store keeps the first
 * note, and a note of an older head stays valid. Proven by `test/service/log/checkpoints.test.ts` and
 * `test/store/postgres/signing.test.ts`.
 */
import {
  unverifiedHead,
  signCheckpoint,
  type Checkpoint,
  type CheckpointSigner,
} from '../../core/note/checkpoint.ts';
import { GovError } from '../../contract/problems.ts';
import type { Store } from '../../store/port/store.ts';
import type { TreeName } from '../../store/port/store.ts';
import type { Log } from '../call/log.ts';

export interface SignedCheckpoint {
  readonly checkpoint: Checkpoint;
  /** The signed note. */
  readonly note: string;
}

interface Options {
  readonly store: Store;
  readonly now: () => number;
  readonly log: Log;
  /** Signers of the log with this origin; the first is Ed25519. */
  readonly signers: (origin: string) => readonly CheckpointSigner[];
  /** Called with the newest checkpoint of an audit log each time one is requested. */
  readonly signed?: (projectId: string, signed: SignedCheckpoint) => void;
}

const everyMs = 1000;
/** How often the service looks for unsigned logs. */
const lookMs = 60_000;
/** A process signs within a second of its append; after this time it has ended. */
const abandonedMs = 5000;
/** How many abandoned logs are handled at a time. */
const takenAtOnce = 500;
/** Projects that are signed at the same time. */
const atOnce = 4;
/** A tree that grew counts as stale after this time without a signature. */
const staleMs = 10_000;

export class Checkpoints {
  readonly #options: Options;
  readonly #signing = new Map<string, Promise<unknown>>();
  /** The ends of what `between` runs now, by project. */
  readonly #paused = new Map<string, Promise<void>>();
  /** Projects that grew since their newest checkpoint, and when. */
  readonly #grown = new Map<string, number>();
  /** Projects whose last signing failed, with the reason: logged once, not every second. */
  readonly #failed = new Map<string, string>();
  /**
   * Failed projects whose log lacks leaves that were signed. Only a restart from another copy repairs them.
   */
  readonly #refused = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  /** The current round of signing, and the current search for unsigned logs. */
  #round: Promise<void> | undefined;
  #look: Promise<void> | undefined;
  #lookAtMs = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  grew(projectId: string): void {
    if (!this.#grown.has(projectId)) this.#grown.set(projectId, this.#options.now());
  }

  /** Signs a head of at least `size` leaves, or returns the newest checkpoint where it covers them. */
  async sign(projectId: string, tree: TreeName = 'audit'): Promise<SignedCheckpoint> {
    const key = `${tree} ${projectId}`;
    const before = this.#signing.get(key) ?? Promise.resolve();
    const signed = before.then(
      () => this.#signNow(projectId, tree),
      () => this.#signNow(projectId, tree),
    );
    this.#signing.set(key, signed);
    const forget = (): void => {
      if (this.#signing.get(key) === signed) this.#signing.delete(key);
    };
    signed.then(forget, forget);
    return signed;
  }

  /**
   * Runs `work` while nothing of the project is signed: waits for running signatures, and delays new ones.
   */
  async between<Result>(projectId: string, work: () => Promise<Result>): Promise<Result> {
    const keys = (['audit', 'metering'] as const).map((tree) => `${tree} ${projectId}`);
    const done = Promise.allSettled(keys.map((key) => this.#signing.get(key))).then(work);
    for (const key of keys) this.#signing.set(key, done);
    const forget = (): void => {
      for (const key of keys) if (this.#signing.get(key) === done) this.#signing.delete(key);
      if (this.#paused.get(projectId) === ended) this.#paused.delete(projectId);
    };
    const ended = done.then(forget, forget);
    this.#paused.set(projectId, ended);
    return done;
  }

  /** Resolves when `between` has ended; undefined where nothing of it runs. For what signs without `sign`. */
  paused(projectId: string): Promise<void> | undefined {
    return this.#paused.get(projectId);
  }

  async #signNow(projectId: string, tree: TreeName): Promise<SignedCheckpoint> {
    const signed = await this.#newest(projectId, tree);
    if (tree === 'audit') this.#options.signed?.(projectId, signed);
    return signed;
  }

  async #newest(projectId: string, tree: TreeName): Promise<SignedCheckpoint> {
    const { store, now, signers } = this.#options;
    const { size, root } = await store.head(projectId, tree);
    const newest = await store.newestCheckpoint(projectId, tree);
    if (newest !== null) {
      const checkpoint = openOwn(newest);
      // another process may have signed a larger head in the meantime
      if (checkpoint.size >= size) return { checkpoint, note: newest };
    }
    const project = await store.project(projectId);
    if (project === null) throw new Error(`expected project ${projectId} in the store, got none`);
    const origin = tree === 'audit' ? project.auditOrigin : project.meteringOrigin;
    const checkpoint: Checkpoint = { origin, size, root, extensions: [] };
    const timestampSeconds = Math.floor(now() / 1000);
    const note = await store.saveCheckpoint(projectId, tree, checkpoint, (frozen) =>
      signCheckpoint(frozen, signers(origin), { timestampSeconds }),
    );
    return { checkpoint, note };
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#tick(), everyMs);
    this.#timer.unref();
    this.#tick();
  }

  #tick(): void {
    if (this.#round === undefined) void this.signGrown();
    this.#look ??= this.#lookForUnsigned().finally(() => (this.#look = undefined));
  }

  /** Handles all logs of a full page before it asks for the next page. */
  async #lookForUnsigned(): Promise<void> {
    const { store, now, log } = this.#options;
    if (now() < this.#lookAtMs || this.#grown.size >= takenAtOnce) return;
    this.#lookAtMs = now() + lookMs;
    try {
      const unsigned = await store.unsigned(now() - abandonedMs, takenAtOnce);
      for (const projectId of unsigned) this.grew(projectId);
      if (unsigned.length === takenAtOnce) this.#lookAtMs = 0;
      if (unsigned.length > 0) await this.signGrown();
    } catch (error) {
      log.error({ err: error }, 'the store could not list logs without a checkpoint');
    }
  }

  /**
   * Signs all logs that grew so far. A failure is logged once, counts as stale, and is tried again a second
   * later.
   */
  signGrown(): Promise<void> {
    const round = (this.#round ?? Promise.resolve()).then(() => this.#signRound());
    this.#round = round;
    return round.finally(() => {
      if (this.#round === round) this.#round = undefined;
    });
  }

  async #signRound(): Promise<void> {
    const grown = [...this.#grown].values();
    // copies the map, because a failed project is put back into it
    this.#grown.clear();
    const work = async (): Promise<void> => {
      for (const [projectId, sinceMs] of grown) await this.#signBoth(projectId, sinceMs);
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  }

  async #signBoth(projectId: string, sinceMs: number): Promise<void> {
    try {
      await this.sign(projectId, 'audit');
      await this.sign(projectId, 'metering');
      this.#failed.delete(projectId);
      this.#refused.delete(projectId);
    } catch (error) {
      this.#grown.set(projectId, sinceMs);
      if (isLacking(error)) this.#refused.set(projectId, error.message);
      const why = String(error);
      if (this.#failed.get(projectId) === why) return;
      this.#failed.set(projectId, why);
      this.#options.log.error({ err: error, projectId }, 'a checkpoint could not be signed');
    }
  }

  /** Whether every tree that grew was signed recently, except trees that are refused. */
  fresh(): boolean {
    const nowMs = this.#options.now();
    for (const [projectId, sinceMs] of this.#grown)
      if (nowMs - sinceMs > staleMs && !this.#refused.has(projectId)) return false;
    return true;
  }

  /**
   * Why the store refuses to sign: these logs lack signed leaves, and signing more would fork their history.
   */
  refusals(): readonly string[] {
    return [...this.#refused.values()];
  }

  /** Stops the timer and waits for running signatures. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#look;
    await Promise.allSettled(this.#signing.values());
  }
}

/** Whether the store reports that the log lacks signed leaves. */
const isLacking = (error: unknown): error is GovError =>
  error instanceof GovError && error.code === 'STORAGE_FAULT' && 'origin' in error.extensions;

/**
 * The checkpoint in a note from our own store, whose signature was verified on write. STORAGE_FAULT where it was altered
 * below the store so that it cannot be read.
 */
export function openOwn(note: string): Checkpoint {
  try {
    return unverifiedHead(note);
  } catch (cause) {
    if (!(cause instanceof GovError)) throw cause;
    throw new GovError('STORAGE_FAULT', `a stored checkpoint cannot be read: ${cause.message}`, { cause });
  }
}

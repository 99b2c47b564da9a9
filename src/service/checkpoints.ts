/**
 * Signs the heads of both trees of a project (docs/proofs.md): when a proof asks for it, and otherwise
 * at most every second if the log grew. Signing is serialised per tree, so that a tree never gets two heads
 * out of order; the store keeps the head durably before it is signed. Proven by
 * `test/service/checkpoints.test.ts`.
 */
import {
  parseCheckpoint,
  signCheckpoint,
  type Checkpoint,
  type CheckpointSigner,
} from '../core/checkpoint.ts';
import { splitNote } from '../core/note.ts';
import type { Store, TreeName } from '../store/port.ts';
import type { Log } from './log.ts';

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
}

const everyMs = 1000;
/** A tree that grew and was not signed for so long counts as stale. */
const staleMs = 10_000;

export class Checkpoints {
  readonly #options: Options;
  readonly #signing = new Map<string, Promise<unknown>>();
  /** Projects that grew since their newest checkpoint, and since when. */
  readonly #grown = new Map<string, number>();
  /** Projects whose last signing failed, and why: said once, not every second. */
  readonly #failed = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  grew(projectId: string): void {
    if (!this.#grown.has(projectId)) this.#grown.set(projectId, this.#options.now());
  }

  /** Signs a head of at least `size` leaves, or answers the newest checkpoint where it covers them. */
  async sign(projectId: string, tree: TreeName = 'audit'): Promise<SignedCheckpoint> {
    const key = `${tree} ${projectId}`;
    const before = this.#signing.get(key) ?? Promise.resolve();
    const signed = before.then(
      () => this.#signNow(projectId, tree),
      () => this.#signNow(projectId, tree),
    );
    this.#signing.set(key, signed);
    return signed;
  }

  async #signNow(projectId: string, tree: TreeName): Promise<SignedCheckpoint> {
    const { store, now, signers } = this.#options;
    const { size, root } = await store.head(projectId, tree);
    const newest = await store.newestCheckpoint(projectId, tree);
    if (newest !== null) {
      const checkpoint = openOwn(newest);
      if (checkpoint.size === size) return { checkpoint, note: newest };
    }
    const project = await store.project(projectId);
    if (project === null) throw new Error(`no project ${projectId} in the store`);
    const origin = tree === 'audit' ? project.auditOrigin : project.meteringOrigin;
    const checkpoint: Checkpoint = { origin, size, root, extensions: [] };
    const timestampSeconds = Math.floor(now() / 1000);
    const note = await store.saveCheckpoint(projectId, tree, checkpoint, (frozen) =>
      signCheckpoint(frozen, signers(origin), { timestampSeconds }),
    );
    return { checkpoint, note };
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.signGrown(), everyMs);
    this.#timer.unref();
  }

  /** Signs what grew. A failure is logged once, kept as stale, and tried again a second later. */
  async signGrown(): Promise<void> {
    const grown = [...this.#grown];
    // what fails is put back, so the list that is worked off must not be the map
    this.#grown.clear();
    for (const [projectId, sinceMs] of grown) {
      try {
        await this.sign(projectId, 'audit');
        await this.sign(projectId, 'metering');
        this.#failed.delete(projectId);
      } catch (error) {
        this.#grown.set(projectId, sinceMs);
        const why = String(error);
        if (this.#failed.get(projectId) === why) continue;
        this.#failed.set(projectId, why);
        this.#options.log.error({ err: error, projectId }, 'a checkpoint could not be signed');
      }
    }
  }

  /** Whether every tree that grew was signed lately. */
  fresh(): boolean {
    const nowMs = this.#options.now();
    for (const sinceMs of this.#grown.values()) if (nowMs - sinceMs > staleMs) return false;
    return true;
  }

  /** Stops the timer and waits for what is being signed. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.allSettled(this.#signing.values());
  }
}

/** The checkpoint in a note of our own store. */
export const openOwn = (note: string): Checkpoint => parseCheckpoint(splitNote(note).text);

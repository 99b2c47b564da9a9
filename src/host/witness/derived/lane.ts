/**
 * The derivation of one log by an index witness. A signed checkpoint asks for it: the lane reads the records below, checks
 * them against the root of the checkpoint, and judges every index leaf. Only then may the checkpoint be cosigned. Nothing of
 * the log waits for it: a caller gets `behind` after some seconds, and the lane goes on.
 *
 * A crash loses what was derived since the last save, which is read again. A refusal is stored before it is answered.
 * Proven by `test/host/witness/derived/operator.test.ts`.
 */
import { setImmediate as breathe, setTimeout as pause } from 'node:timers/promises';
import { limits } from '../../../contract/limits.ts';
import { IndexDeriver, type FalseIndex, type Restart } from '../../../core/completeness/derive.ts';
import { GovApiError } from '../../../client/errors.ts';
import type { Checkpoint } from '../../../core/note/checkpoint.ts';
import type { LogMapStore } from './map-store.ts';

/** What may be said of the index leaves below a checkpoint. */
export type IndexAnswer =
  | { readonly kind: 'right' }
  | { readonly kind: 'behind'; readonly detail: string }
  | { readonly kind: 'refused'; readonly detail: string };

interface LaneOptions {
  /** The records [from, to), in lists. */
  readonly records: (range: {
    readonly from: number;
    readonly to: number;
  }) => AsyncIterable<readonly string[]>;
  readonly store: LogMapStore;
  /** Keeps a false index for good, with its evidence. The checkpoint covers it. */
  readonly refuse: (fault: FalseIndex, note: string) => Promise<void>;
  /** Gets each failure of a derivation. */
  readonly failed: (error: unknown) => void;
}

interface Target {
  readonly checkpoint: Checkpoint;
  readonly note: string;
}

export class IndexLane {
  readonly #options: LaneOptions;
  #deriver: IndexDeriver | null = null;
  #savedSize = 0;
  #working: Promise<void> | null = null;
  /** The checkpoint below which everything is right. */
  #right: Checkpoint | null = null;
  #refused: string | null = null;
  /** Why the last derivation did not come to its end. */
  #fault: string | null = null;
  #stopped = false;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  get isDeriving(): boolean {
    return this.#working !== null;
  }

  /** Whether a checkpoint that the log signed may be cosigned. Waits some seconds for it. */
  async judge(target: Target): Promise<IndexAnswer> {
    const now = this.#answer(target.checkpoint);
    if (now.kind !== 'behind') return now;
    this.#working ??= this.#derive(target).finally(() => {
      this.#working = null;
    });
    const late = new AbortController();
    const wait = pause(limits.indexWitnessSeconds * 1000, undefined, { signal: late.signal }).catch(() => {});
    await Promise.race([this.#working, wait]);
    late.abort();
    return this.#answer(target.checkpoint);
  }

  /** Ends the derivation and saves where it stands. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#working;
    // what was not compared with a signed root is not saved
    if (this.#deriver !== null && this.#right?.size === this.#deriver.size) this.#save(this.#deriver);
  }

  #answer({ size, root }: Checkpoint): IndexAnswer {
    if (this.#refused !== null) return { kind: 'refused', detail: this.#refused };
    if (this.#right?.size === size && this.#right.root.equals(root)) return { kind: 'right' };
    const derived = this.#deriver?.size ?? 0;
    const why = this.#fault === null ? '' : `: ${this.#fault}`;
    return { kind: 'behind', detail: `${derived} of ${size} records are derived${why}` };
  }

  async #derive({ checkpoint, note }: Target): Promise<void> {
    this.#fault = null;
    try {
      let deriver = this.#deriver ?? this.#open(null);
      if (deriver.size > checkpoint.size) {
        this.#fault = 'a newer checkpoint was derived';
        return;
      }
      while (!(await this.#read(deriver, checkpoint)) && deriver.restart !== null) {
        this.#options.store.drop();
        deriver = this.#open(deriver.restart);
      }
      await this.#settle(deriver, { checkpoint, note });
    } catch (error) {
      this.#options.failed(error);
      this.#fault = reasonOf(error);
    }
  }

  /** Continues what is stored, or begins. */
  #open(restart: Restart | null): IndexDeriver {
    const { store } = this.#options;
    const from = restart === null ? store.state() : null;
    this.#savedSize = from?.size ?? 0;
    this.#deriver = new IndexDeriver({
      store,
      ...(from === null ? {} : { from }),
      ...(restart === null ? {} : { restart }),
    });
    return this.#deriver;
  }

  /** False where the derivation did not reach the checkpoint, or has to begin again. */
  async #read(deriver: IndexDeriver, { size }: Checkpoint): Promise<boolean> {
    for await (const records of this.#options.records({ from: deriver.size, to: size })) {
      for (const record of records) deriver.add(record);
      if (this.#stopped || deriver.restart !== null) return false;
      if (deriver.size - this.#savedSize >= limits.indexWitnessSave) this.#save(deriver);
      await breathe();
    }
    deriver.settle();
    return deriver.restart === null;
  }

  /** The records were read up to the checkpoint. Nothing of them counts before their root is the signed one. */
  async #settle(deriver: IndexDeriver, { checkpoint, note }: Target): Promise<void> {
    const { fault, unknown } = deriver;
    if (deriver.size < checkpoint.size) return;
    if (!deriver.root().equals(checkpoint.root)) {
      this.#options.store.drop();
      this.#deriver = null;
      this.#right = null;
      throw new Error(`the ${checkpoint.size} records do not have the signed root`);
    }
    if (unknown !== null) throw new Error(unknown);
    if (fault !== null) {
      await this.#options.refuse(fault, note);
      this.#refused = fault.detail;
      return;
    }
    this.#right = checkpoint;
    if (deriver.size - this.#savedSize >= limits.indexLeaves) this.#save(deriver);
  }

  #save(deriver: IndexDeriver): void {
    deriver.settle();
    if (deriver.fault !== null || deriver.restart !== null) return;
    const { state, lists } = deriver.unsaved();
    this.#options.store.save(state, lists);
    this.#savedSize = deriver.size;
    deriver.saved(limits.indexWitnessLists);
  }
}

/**
 * What the witness says of a derivation that failed. Records that the log no longer gives will not come later, so it names
 * the next step: only a pruned log answers 404 to a tile below its signed size.
 */
function reasonOf(error: unknown): string {
  if (error instanceof GovApiError && error.status === 404)
    return `${error.message}. This witness has not derived the records before, so it cosigns no checkpoint of this log: put its newest index.db back, or name another index witness, which began before the prune`;
  return error instanceof Error ? error.message : String(error);
}

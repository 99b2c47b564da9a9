/**
 * Tool call ids within one run. Sources repeat ids for different calls (49 of the 200 τ-bench runs do) or have none. The
 * graph joins calls and results by id, so each call of a run gets its own id here.
 * Tested by `test/core/intake/formats/openai-chat.test.ts`.
 */
import type { Changes } from './fit.ts';

export class CallIds {
  readonly #changes: Changes;
  /** The newest own id for each id of the source. */
  readonly #current = new Map<string, string>();
  readonly #uses = new Map<string, number>();
  readonly #names = new Map<string, string>();
  readonly #open: string[] = [];
  #unnamed = 0;

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  /** Returns the id of a new call: the source's id, numbered if the run has used it before, or a generated one. */
  called(sourceId: string | undefined, name: string): string {
    const id = sourceId === undefined ? `import:call-${++this.#unnamed}` : this.#own(sourceId);
    if (sourceId !== undefined) this.#current.set(sourceId, id);
    this.#names.set(id, name);
    this.#open.push(id);
    return id;
  }

  #own(sourceId: string): string {
    const uses = (this.#uses.get(sourceId) ?? 0) + 1;
    this.#uses.set(sourceId, uses);
    if (uses === 1) return sourceId;
    this.#changes.add('call_id_renamed');
    return `${sourceId}~${uses}`;
  }

  /**
   * Returns the call that a result answers: the nearest earlier call with the source's id. Without an id, the oldest call
   * without a result. Undefined if there is none.
   */
  answered(sourceId: string | undefined): string | undefined {
    const id = sourceId === undefined ? this.#open[0] : (this.#current.get(sourceId) ?? sourceId);
    const at = id === undefined ? -1 : this.#open.indexOf(id);
    if (at >= 0) this.#open.splice(at, 1);
    return id;
  }

  /** Returns the tool that a call named. */
  nameOf(id: string | undefined): string | undefined {
    return id === undefined ? undefined : this.#names.get(id);
  }
}

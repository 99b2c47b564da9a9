/**
 * The newest event that requested, made or answered each tool call of a run, by call id. One map serves all three
 * roles, because a long run has a call id for every third event. Proven by `test/core/graphs/derivation.test.ts`.
 */
const roles = { asked: 0, called: 1, answered: 2 } as const;
export type CallRole = keyof typeof roles;

const roleCount = 3;

export class ToolCalls {
  readonly #slots = new Map<string, number>();
  /** Event positions plus one, three for each call; 0: no event. */
  #events = new Int32Array(64 * roleCount);

  /** Number of calls. */
  get size(): number {
    return this.#slots.size;
  }

  /** Returns the position of the newest event with this role, or undefined. */
  find(callId: string, role: CallRole): number | undefined {
    const slot = this.#slots.get(callId);
    const event = slot === undefined ? 0 : (this.#events[slot * roleCount + roles[role]] ?? 0);
    return event === 0 ? undefined : event - 1;
  }

  set(callId: string, role: CallRole, event: number): void {
    let slot = this.#slots.get(callId);
    if (slot === undefined) {
      slot = this.#slots.size;
      this.#slots.set(callId, slot);
    }
    if ((slot + 1) * roleCount > this.#events.length) {
      const larger = new Int32Array(this.#events.length * 2);
      larger.set(this.#events);
      this.#events = larger;
    }
    this.#events[slot * roleCount + roles[role]] = event + 1;
  }
}

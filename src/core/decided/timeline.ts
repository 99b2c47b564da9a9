/**
 * The policies in force at each index of the log, derived only from its `gov.policy/1` leaves (`docs/reference/proof-format.md`).
 * Proven by `test/core/decided/timeline.test.ts` (a naive list of all leaves as oracle).
 */
import { applyPolicyChange, type VersionsInForce, type PolicyChange } from './policy-change.ts';
import { parseTimestamp } from '../time.ts';
import { policySetHash } from '../policies/language/hash.ts';

/** Accumulates the policy changes of a project in log order. Memory: the policies in force, 8 bytes a switch. */
export class PolicyTimeline {
  readonly #inForce: VersionsInForce = new Map();
  #newest: number | null = null;
  #hash: string | undefined;
  /** Indexes of the leaves after which the first policy came into force, or the last one left it. */
  readonly #switches: number[] = [];
  /** Their times, in Unix milliseconds. */
  readonly #switchedMs: number[] = [];

  /** Adds the next change; `index`: of its leaf. */
  add(index: number, change: PolicyChange): void {
    const before = this.#inForce.get(change.policyId);
    const wasActive = this.#inForce.size > 0;
    applyPolicyChange(this.#inForce, change);
    if (this.#inForce.size > 0 !== wasActive) {
      this.#switches.push(index);
      this.#switchedMs.push(parseTimestamp(change.at) ?? 0);
    }
    if (this.#inForce.get(change.policyId)?.policyHash !== before?.policyHash) this.#hash = undefined;
    this.#newest = index;
  }

  /** Policy id → version and hash in force after the added changes. */
  get versions(): ReadonlyMap<string, { readonly version: number; readonly policyHash: string }> {
    return this.#inForce;
  }

  /** Index of the newest added leaf; null before any. */
  get policyIndex(): number | null {
    return this.#newest;
  }

  /** Computed once after each change: 1.5 µs a policy. */
  get policySetHash(): string {
    this.#hash ??= policySetHash(
      Array.from(this.#inForce, ([policyId, { policyHash }]) => ({ policyId, policyHash })),
    );
    return this.#hash;
  }

  /** Returns whether any policy was in force for a leaf at this index, up to the newest added. Cost: log n. */
  activeAt(index: number): boolean {
    let low = 0;
    let high = this.#switches.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#switches[middle] ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    return low % 2 === 1;
  }

  /** Returns whether any policy was in force at a time, by the times of the changes; the last one counts where the clock went back. */
  activeAtMs(ms: number): boolean {
    return this.#switchedMs.findLastIndex((switchedMs) => switchedMs <= ms) % 2 === 0;
  }

  /** Returns whether any policy was ever in force. */
  get everActive(): boolean {
    return this.#switches.length > 0;
  }
}

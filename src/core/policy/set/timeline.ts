/**
 * Which policies were in force at each index of the log, from its `gov.policy/1` leaves alone (docs/reference/proof-format.md).
 * Proven by `test/core/policy/set/timeline.test.ts` (a naive list of all leaves as oracle).
 */
import { applyPolicyChange, type InForce, type PolicyChange } from '../../decided/policy-change.ts';
import { policySetHash } from '../language/hash.ts';

/** Takes the changes of a project's policies in log order. Memory: the policies in force, 8 bytes a switch. */
export class PolicyTimeline {
  private readonly inForce: InForce = new Map();
  private newest: number | null = null;
  private hash: string | undefined;
  /** Indexes of the leaves after which some policy is in force where none was, or the other way round. */
  private readonly switches: number[] = [];

  /** The next change, and the index of its leaf. */
  add(index: number, change: PolicyChange): void {
    const before = this.inForce.get(change.policyId);
    const wasActive = this.inForce.size > 0;
    applyPolicyChange(this.inForce, change);
    if (this.inForce.size > 0 !== wasActive) this.switches.push(index);
    if (this.inForce.get(change.policyId)?.policyHash !== before?.policyHash) this.hash = undefined;
    this.newest = index;
  }

  /** Policy id → version and hash in force after what was added. */
  get versions(): ReadonlyMap<string, { readonly version: number; readonly policyHash: string }> {
    return this.inForce;
  }

  /** Index of the newest leaf that was added, null before any. */
  get policyIndex(): number | null {
    return this.newest;
  }

  /** Computed once after each change: 1.5 µs a policy. */
  get policySetHash(): string {
    this.hash ??= policySetHash(
      Array.from(this.inForce, ([policyId, { policyHash }]) => ({ policyId, policyHash })),
    );
    return this.hash;
  }

  /** Whether any policy was in force for a leaf at this index, which is not past what was added. Cost: log n. */
  activeAt(index: number): boolean {
    let low = 0;
    let high = this.switches.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.switches[middle] ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    return low % 2 === 1;
  }

  /** Whether any policy was in force at any time. */
  get everActive(): boolean {
    return this.switches.length > 0;
  }
}

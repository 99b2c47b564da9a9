/**
 * The policies in force, as one immutable set that is swapped as a whole: an evaluation sees one snapshot. A
 * version is compiled once and shared by all later sets. Large sets are evaluated by way of `guardindex.ts`.
 * Proven by `test/core/policy/set.test.ts` and `test/core/policy/guardindex.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { PolicyAction, PolicySeverity } from '../../contract/policywords.ts';
import { engine } from './ast.ts';
import type { Checkpoint } from './compile.ts';
import { combine, counts, graver, inactive } from './decision.ts';
import { GuardIndex } from './guardindex.ts';
import { Member, type PolicyDecision, type PolicyVersion } from './member.ts';
import { type InForceProof, inForceProof, policySetHash } from './policyhash.ts';
import { type ReadSet, readSet } from './readset.ts';

export type { Member, PolicyDecision, PolicyVersion } from './member.ts';

export interface SetSummary {
  /** How many policies were asked, whether they are listed or not. */
  readonly total: number;
  readonly matched: number;
  readonly indeterminate: number;
  readonly byDecision: Readonly<Record<PolicyAction, number>>;
  readonly combined: PolicyAction;
  /** The policies whose decision is the combined one, of those that matched or are indeterminate. */
  readonly decidedBy: readonly string[];
  /** Of the policies that do more than allow. */
  readonly maxSeverity: PolicySeverity | null;
  readonly policySetHash: string;
  readonly engine: string;
}

export interface SetDecision {
  readonly decisions: readonly PolicyDecision[];
  readonly summary: SetSummary;
}

export interface DecideOptions {
  /** The policies to ask; none for all that are in force. */
  readonly ids?: readonly string[];
  /** Where no policy has a say; default allow. */
  readonly defaultDecision?: PolicyAction;
}

/** From this many policies on, evaluating all costs more than asking the index. */
export const indexedPolicies = 500;

export class PolicySet {
  static readonly empty = new PolicySet(new Map());

  /** By policy id, in the order of its bytes, which for ids (contract A2) is that of their texts. */
  private readonly members: ReadonlyMap<string, Member>;
  private readonly list: readonly Member[];
  private index: GuardIndex | undefined;
  private hash: string | undefined;
  private reads: ReadSet | undefined;

  private constructor(members: ReadonlyMap<string, Member>) {
    this.members = members;
    this.list = [...members.values()];
  }

  /**
   * The set of these versions, one for each policy; `previous` lends what it has compiled. A condition that does
   * not parse is an Error that names the policy: a set with a hole must not be put in force. Cost: about 20 µs
   * for a version that is new.
   */
  static of(versions: Iterable<PolicyVersion>, previous: PolicySet = PolicySet.empty): PolicySet {
    const sorted = [...versions].sort((a, b) => (a.policyId < b.policyId ? -1 : 1));
    const members = new Map<string, Member>();
    for (const version of sorted) {
      if (members.has(version.policyId)) {
        throw new Error(`expected one version of each policy, got ${version.policyId} twice`);
      }
      members.set(version.policyId, previous.member(version));
    }
    return new PolicySet(members);
  }

  /** The set with this version in place of the policy's other one. Cost: 1 ms for 10,000 policies. */
  with(version: PolicyVersion): PolicySet {
    const others = this.versions().filter(({ policyId }) => policyId !== version.policyId);
    return PolicySet.of([...others, version], this);
  }

  without(policyId: string): PolicySet {
    return PolicySet.of(
      this.versions().filter((version) => version.policyId !== policyId),
      this,
    );
  }

  get size(): number {
    return this.list.length;
  }

  get(policyId: string): Member | undefined {
    return this.members.get(policyId);
  }

  versions(): PolicyVersion[] {
    return this.list.map(({ policy }) => policy);
  }

  /** Computed once for each set: 15 ms for 10,000 policies. */
  get policySetHash(): string {
    this.hash ??= policySetHash(this.versions());
    return this.hash;
  }

  /** That the policy's version is part of the set; undefined where it is not in force. */
  inForceProof(policyId: string): InForceProof | undefined {
    return inForceProof(this.versions(), policyId);
  }

  /** What the conditions of the set read, computed once for each set. */
  get readSet(): ReadSet {
    this.reads ??= readSet(new Set(this.list.flatMap(({ compiled }) => compiled.readPaths)));
    return this.reads;
  }

  /**
   * What the policies say. Asked for by id, each is listed once, in the order asked; one that the set does not
   * hold is inactive (whether it exists is for the caller to know). Else they are listed by id, and where there
   * are more than `policiesListed`, only those that matched or are indeterminate (contract O5).
   */
  decide(checkpoint: Checkpoint, { ids = [], defaultDecision }: DecideOptions = {}): SetDecision {
    if (ids.length > 0) {
      const decisions = [...new Set(ids)].map((id) => this.members.get(id)?.decide(checkpoint) ?? idle(id));
      return this.answer(decisions, decisions.length, defaultDecision);
    }
    if (this.size <= limits.policiesListed) {
      const decisions = this.list.map((member) => member.decide(checkpoint));
      return this.answer(decisions, this.size, defaultDecision);
    }
    return this.answer(this.voices(checkpoint), this.size, defaultDecision);
  }

  /** What the policies that have a say decide, in the order of their ids. */
  private voices(checkpoint: Checkpoint): PolicyDecision[] {
    if (this.size <= indexedPolicies) {
      const decisions = this.list.map((member) => member.decide(checkpoint));
      return decisions.filter(({ outcome }) => counts(outcome));
    }
    this.index ??= new GuardIndex(this.list.map(({ compiled }) => compiled.guards));
    const voices: { at: number; decision: PolicyDecision }[] = [];
    for (const at of this.index.candidates(checkpoint)) {
      const decision = this.list[at]?.decide(checkpoint);
      if (decision !== undefined && counts(decision.outcome)) voices.push({ at, decision });
    }
    return voices.sort((a, b) => a.at - b.at).map(({ decision }) => decision);
  }

  /** `total` ≥ the decisions: the others did not match. */
  private answer(
    decisions: readonly PolicyDecision[],
    total: number,
    defaultDecision: PolicyAction | undefined,
  ): SetDecision {
    const byDecision = { allow: total - decisions.length, warn: 0, escalate: 0, deny: 0 };
    const byOutcome = { matched: 0, not_matched: 0, indeterminate: 0, inactive: 0 };
    let maxSeverity: PolicySeverity | null = null;
    for (const { decision, outcome, severity } of decisions) {
      byDecision[decision]++;
      byOutcome[outcome]++;
      if (decision !== 'allow') maxSeverity = graver(maxSeverity, severity);
    }
    const combined = combine(decisions, defaultDecision);
    const decidedBy = decisions
      .filter(({ decision, outcome }) => decision === combined && counts(outcome))
      .map(({ policyId }) => policyId);
    const { matched, indeterminate } = byOutcome;
    const { policySetHash } = this;
    const summary = { total, matched, indeterminate, byDecision, combined, decidedBy, maxSeverity };
    return { decisions, summary: { ...summary, policySetHash, engine } };
  }

  private member(version: PolicyVersion): Member {
    return this.members.get(version.policyId)?.as(version) ?? Member.of(version);
  }
}

const idle = (policyId: string): PolicyDecision => ({ policyId, version: null, ...inactive, severity: null });

/**
 * The policies in force, as one immutable set that is replaced as a whole, so an evaluation sees one snapshot.
 * A version is compiled once and shared by all later sets. Large sets are evaluated with `guard-index.ts`. A set that
 * differs in one policy is derived from the previous set at little cost. Proven by
 * `test/core/policies/set/in-force.test.ts`, `test/core/policies/set/changes.test.ts` and
 * `test/core/policies/set/guard-index.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { PolicyAction, PolicySeverity } from '../../../contract/policy-words.ts';
import { hashText } from '../../hash.ts';
import { merkleRoot } from '../../merkle/tree.ts';
import { engine } from '../language/ast.ts';
import type { PolicyInput } from '../evaluate/compile.ts';
import { combine, counts, graver, gravestDecisions, inactive } from '../evaluate/decision.ts';
import { Member, type PolicyDecision, type PolicyVersion } from './member.ts';
import { MemberIndex } from './member-index.ts';
import { type InForceProof, pathTo } from '../language/hash.ts';
import { type ReadSet, readSet } from '../language/read-set.ts';
import { atOnce, type TimeSlicedWork, TimeSlice } from '../evaluate/time-slice.ts';

export type { Member, PolicyDecision, PolicyVersion } from './member.ts';

export interface SetSummary {
  /** Number of evaluated policies, listed or not. */
  readonly total: number;
  readonly matched: number;
  readonly indeterminate: number;
  readonly byDecision: Readonly<Record<PolicyAction, number>>;
  readonly combined: PolicyAction;
  /** Policies with the combined decision, among those that matched or are indeterminate. */
  readonly decidedBy: readonly string[];
  /** The gravest severity of policies whose decision is not allow. */
  readonly maxSeverity: PolicySeverity | null;
  readonly policySetHash: string;
  readonly engine: string;
  /** Present if more policies decided than are listed: the gravest are listed, all are counted. */
  readonly truncated?: true;
}

export interface SetDecision {
  readonly decisions: readonly PolicyDecision[];
  readonly summary: SetSummary;
}

export interface DecideOptions {
  /** Policies to evaluate; default: all in force. */
  readonly ids?: readonly string[];
  /** Decision if no policy matched or is indeterminate; default allow. */
  readonly defaultDecision?: PolicyAction;
}

/** Number of policies from which evaluating all costs more than using the index. */
export const indexedPolicies = 500;

interface Reads {
  readonly names: ReadonlySet<string>;
  readonly set: ReadSet;
}

export class PolicySet {
  static readonly empty = new PolicySet([]);

  /** By policy id in byte order, which for ids (contract A2) equals text order. */
  readonly #list: readonly Member[];
  #byId: ReadonlyMap<string, Member> | undefined;
  #index: MemberIndex | undefined;
  #hash: string | undefined;
  #reads: Reads | undefined;
  /** Of an earlier set, to share where the paths are the same. */
  readonly #earlierReads: Reads | undefined;

  private constructor(list: readonly Member[], earlierReads?: Reads) {
    this.#list = list;
    this.#earlierReads = earlierReads;
  }

  /**
   * Returns the set of these versions, one for each policy; it reuses the compiled versions of `previous`. Throws an Error
   * with the policy id for a condition that does not parse, because an incomplete set must not be in force. Cost: about
   * 20 µs for a new version.
   */
  static of(versions: Iterable<PolicyVersion>, previous: PolicySet = PolicySet.empty): PolicySet {
    const sorted = [...versions].sort((a, b) => (a.policyId < b.policyId ? -1 : 1));
    const members: Member[] = [];
    for (const version of sorted) {
      if (members.at(-1)?.policy.policyId === version.policyId) {
        throw new Error(`expected one version of each policy, got ${version.policyId} twice`);
      }
      members.push(previous.get(version.policyId)?.as(version) ?? Member.of(version));
    }
    return new PolicySet(members, previous.#reads ?? previous.#earlierReads);
  }

  /**
   * Returns the set with this version instead of the policy's other one; itself if nothing changes. Cost: compiling the
   * version, and about 10 µs for 10,000 policies.
   */
  with(version: PolicyVersion): PolicySet {
    const at = this.#placeOf(version.policyId);
    const before = this.#at(at, version.policyId);
    const after = before?.as(version) ?? Member.of(version);
    return after === before ? this : this.#changed(at, before, after);
  }

  /** Returns the set without a policy; itself if it has no such policy. Cost: as above. */
  without(policyId: string): PolicySet {
    const at = this.#placeOf(policyId);
    const before = this.#at(at, policyId);
    return before === undefined ? this : this.#changed(at, before, undefined);
  }

  get size(): number {
    return this.#list.length;
  }

  get(policyId: string): Member | undefined {
    if (this.size > indexedPolicies) return this.#at(this.#placeOf(policyId), policyId);
    // Called for each decision of a set that is listed in full.
    this.#byId ??= new Map(this.#list.map((member) => [member.policy.policyId, member]));
    return this.#byId.get(policyId);
  }

  versions(): PolicyVersion[] {
    return this.#list.map(({ policy }) => policy);
  }

  /** Computed once for each set: 7 ms for 10,000 policies. */
  get policySetHash(): string {
    this.#hash ??= hashText(merkleRoot(this.#leaves()));
    return this.#hash;
  }

  /** Returns the proof that the policy is part of the set; undefined if it is not in force. Cost: that of the hash. */
  inForceProof(policyId: string): InForceProof | undefined {
    const index = this.#placeOf(policyId);
    if (this.#at(index, policyId) === undefined) return undefined;
    return { index, size: this.size, hashes: pathTo(index, this.#leaves()).map(hashText) };
  }

  /** The read-set of the conditions, computed once for each set. Cost: 1 ms for 10,000 policies. */
  get readSet(): ReadSet {
    if (this.#reads === undefined) {
      const names = new Set<string>();
      for (const { compiled } of this.#list) for (const path of compiled.readPaths) names.add(path);
      const earlier = this.#earlierReads;
      this.#reads = earlier !== undefined && areSame(names, earlier.names) ? earlier : readsOf(names);
    }
    return this.#reads.set;
  }

  /**
   * Returns the decisions. With `ids`, each policy is listed once, in the given order; one outside of the set is inactive
   * (the caller knows whether it exists). Otherwise policies are listed by id; of more than `policiesListed` policies only
   * those that matched or are indeterminate (contract O5), and at most `decisionsListed`, the gravest. The list depends
   * only on set and input, so it can be recomputed.
   */
  decide(input: PolicyInput, options?: DecideOptions): SetDecision {
    return atOnce(this.deciding(input, options));
  }

  /** The same in time slices, so that ten thousand policies or long lists delay no other work for long. */
  *deciding(
    input: PolicyInput,
    { ids = [], defaultDecision }: DecideOptions = {},
  ): TimeSlicedWork<SetDecision> {
    if (ids.length > 0) {
      const asked = [...new Set(ids)].map((id) => this.get(id) ?? id);
      const decisions = yield* decisionsOf(asked, input);
      return this.#answer(decisions, decisions.length, defaultDecision);
    }
    if (this.size <= limits.policiesListed) {
      return this.#answer(yield* decisionsOf(this.#list, input), this.size, defaultDecision);
    }
    return this.#answer(yield* this.#voices(input), this.size, defaultDecision);
  }

  /** Returns the decisions of policies that matched or are indeterminate, ordered by id. */
  *#voices(input: PolicyInput): TimeSlicedWork<PolicyDecision[]> {
    const candidates = this.#candidates(input);
    const decisions = yield* decisionsOf(candidates ?? this.#list, input);
    const voices = decisions.filter(({ outcome }) => counts(outcome));
    return candidates === null ? voices : voices.sort((a, b) => (a.policyId < b.policyId ? -1 : 1));
  }

  /** Returns policies that may match, unordered; null if evaluating all in order costs less. */
  #candidates(input: PolicyInput): readonly Member[] | null {
    if (this.size <= indexedPolicies) return null;
    this.#index ??= MemberIndex.of(this.#list);
    const candidates = this.#index.candidates(input);
    return candidates.length > this.size / 4 ? null : candidates;
  }

  /** `total`: at least the number of decisions; the other policies did not match. */
  #answer(
    all: readonly PolicyDecision[],
    total: number,
    defaultDecision: PolicyAction | undefined,
  ): SetDecision {
    const byDecision = { allow: total - all.length, warn: 0, escalate: 0, deny: 0 };
    const byOutcome = { matched: 0, not_matched: 0, indeterminate: 0, inactive: 0 };
    let maxSeverity: PolicySeverity | null = null;
    for (const { decision, outcome, severity } of all) {
      byDecision[decision]++;
      byOutcome[outcome]++;
      if (decision !== 'allow') maxSeverity = graver(maxSeverity, severity);
    }
    const decisions = gravestDecisions(all, limits.decisionsListed);
    const combined = combine(all, defaultDecision);
    const decidedBy = decisions
      .filter(({ decision, outcome }) => decision === combined && counts(outcome))
      .map(({ policyId }) => policyId);
    const { matched, indeterminate } = byOutcome;
    const { policySetHash } = this;
    const summary = { total, matched, indeterminate, byDecision, combined, decidedBy, maxSeverity };
    const truncated = decisions.length < all.length ? ({ truncated: true } as const) : {};
    return { decisions, summary: { ...summary, policySetHash, engine, ...truncated } };
  }

  #changed(at: number, before: Member | undefined, after: Member | undefined): PolicySet {
    const list = this.#list.toSpliced(
      at,
      before === undefined ? 0 : 1,
      ...(after === undefined ? [] : [after]),
    );
    const next = new PolicySet(list, this.#reads ?? this.#earlierReads);
    next.#index = this.#index?.changed(before, after);
    const readsAsMuch = before !== undefined && after !== undefined && readSame(before, after);
    next.#reads = readsAsMuch ? this.#reads : undefined;
    return next;
  }

  #leaves(): Buffer[] {
    return this.#list.map(({ leaf }) => leaf);
  }

  /** Returns the position of a policy, or its insertion position. Cost: log n. */
  #placeOf(policyId: string): number {
    let low = 0;
    let high = this.#list.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#list[middle] as Member).policy.policyId < policyId) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #at(place: number, policyId: string): Member | undefined {
    const member = this.#list[place];
    return member?.policy.policyId === policyId ? member : undefined;
  }
}

const readsOf = (names: ReadonlySet<string>): Reads => ({ names, set: readSet(names) });

const readSame = ({ compiled: one }: Member, { compiled: other }: Member): boolean =>
  areSame(new Set(one.readPaths), new Set(other.readPaths));

const areSame = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.size === other.size && [...one].every((name) => other.has(name));

/** A policy outside of the set is given by its id. */
function* decisionsOf(
  asked: readonly (Member | string)[],
  input: PolicyInput,
): TimeSlicedWork<PolicyDecision[]> {
  const slice = new TimeSlice();
  const decisions: PolicyDecision[] = [];
  for (const each of asked) {
    decisions.push(typeof each === 'string' ? idle(each) : each.decide(input));
    if (!slice.isOver) continue;
    yield;
    slice.begin();
  }
  return decisions;
}

const idle = (policyId: string): PolicyDecision => ({ policyId, version: null, ...inactive, severity: null });

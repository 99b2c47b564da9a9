/**
 * The policy sets in force, in memory: evaluations read one immutable set. A change that this process appends is
 * applied to the set that it was appended to, one policy at a time; what another process changed is found out by
 * the store, which refuses what was decided with an older set as `outdated`, and then all is read anew.
 * Proven by `test/service/policies/in-force.test.ts` (what is applied is what a load finds) and
 * `test/service/policies/evaluate.engines.test.ts` (evaluations that race a publish).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PolicyStatus } from '../../contract/policy-words.ts';
import { readJson } from '../../core/json/parse.ts';
import { readSet, type ReadSet } from '../../core/policy/language/read-set.ts';
import { PolicySet, type PolicyVersion } from '../../core/policy/set/in-force.ts';
import type { ActivePolicy, StoredPolicyVersion, StoreReader } from '../../store/port/store.ts';
import type { Refused, Stored } from '../events/append.ts';
import type { Replayed } from '../call/handler.ts';

/** Whose sets are kept; another one that is asked for is loaded in its place. */
const projectsKept = 100;

/** Policies that are compiled before other requests have their turn: 3 ms. */
const compiledAtOnce = 100;

export interface IdlePolicy {
  readonly name: string;
  readonly status: PolicyStatus;
}

/** What evaluations see of a policy after a change; what is left out is as it was. */
export interface Standing {
  readonly policyId: string;
  /** The version in force; null for none. */
  readonly active?: PolicyVersion | null;
  /** The version in review; null for none. */
  readonly review?: PolicyVersion | null;
}

/** What is in force at one moment of a project. */
export class InForce {
  readonly set: PolicySet;
  /** Index of the newest gov.policy/1 leaf; null before any policy. */
  readonly policyIndex: number | null;
  /** The newest versions of policies in review: evaluated beside, never enforced. */
  readonly review: PolicySet;
  /** Names and statuses of policies that are not in the set, as they were asked for. */
  readonly idle: Map<string, IdlePolicy>;
  #reads: { readonly of: readonly [ReadSet, ReadSet]; readonly both: ReadSet } | null;

  constructor(
    parts: Pick<InForce, 'set' | 'policyIndex' | 'review'>,
    before: InForce | null = null,
    changed: string | null = null,
  ) {
    this.set = parts.set;
    this.policyIndex = parts.policyIndex;
    this.review = parts.review;
    this.idle = new Map(changed === null ? [] : before?.idle);
    if (changed !== null) this.idle.delete(changed);
    this.#reads = before === null ? null : before.#reads;
  }

  /** What the conditions of both read of a checkpoint. Cost: nothing where they read what they read before. */
  get reads(): ReadSet {
    const of = [this.set.readSet, this.review.readSet] as const;
    const known = this.#reads;
    if (known !== null && known.of[0] === of[0] && known.of[1] === of[1]) return known.both;
    const both = readSet([...of[0].paths, ...of[1].paths]);
    this.#reads = { of, both };
    return both;
  }

  /** What is in force after the change of one policy, whose leaf has this index. */
  after({ policyId, active, review }: Standing, policyIndex: number): InForce {
    const set = put(this.set, policyId, active);
    return new InForce({ set, policyIndex, review: put(this.review, policyId, review) }, this, policyId);
  }
}

function put(set: PolicySet, policyId: string, version: PolicyVersion | null | undefined): PolicySet {
  if (version === undefined) return set;
  return version === null ? set.without(policyId) : set.with(version);
}

interface Kept {
  /** Null once a change made it old. */
  current: Promise<InForce> | null;
  /** The newest that was loaded: what it compiled serves the next. */
  newest: InForce | null;
  /** Ends with the change that is being appended. */
  changing: Promise<unknown>;
}

export class PolicySets {
  readonly #store: Pick<StoreReader, 'policiesInForce' | 'policiesInReview'>;
  readonly #kept = new Map<string, Kept>();

  constructor(store: Pick<StoreReader, 'policiesInForce' | 'policiesInReview'>) {
    this.#store = store;
  }

  /** What is in force now. Cost: nothing, or reading all and compiling what changed since the last time. */
  current(projectId: string): Promise<InForce> {
    const kept = this.#keptOf(projectId);
    return kept.current ?? take(kept, load(this.#store, projectId, kept.newest));
  }

  /**
   * Appends a change of a policy and puts it in force. `append` gets what the change must be appended to, which
   * makes it `outdated` where another process changed a policy meanwhile; null where that could not be loaded, as
   * the change may be what repairs it. Changes of a project come one after the other.
   */
  async change<Outcome extends Stored | Replayed | Refused>(
    projectId: string,
    standing: Standing,
    append: (before: InForce | null) => Promise<Outcome>,
  ): Promise<Outcome> {
    const before = await this.current(projectId).catch(() => null);
    const kept = this.#keptOf(projectId);
    const changing = append(before).then((result) => {
      if ('outcome' in result) {
        const index = result.outcome === 'stored' ? indexOf(result) : null;
        kept.current = null;
        if (before !== null && index !== null) void take(kept, applied(before, standing, index));
      }
      return result;
    });
    kept.changing = changing.catch(() => null);
    return changing;
  }

  /** As above, of many policies at once; what is in force after it is read anew. */
  async changeMany<Outcome extends Stored | Replayed | Refused>(
    projectId: string,
    append: (before: InForce) => Promise<Outcome>,
  ): Promise<Outcome> {
    const before = await this.current(projectId);
    const kept = this.#keptOf(projectId);
    const changing = append(before).then((result) => {
      kept.current = null;
      return result;
    });
    kept.changing = changing.catch(() => null);
    return changing;
  }

  /** What is in force where the store refused what was decided with `outdated`. */
  async newer(projectId: string, outdated: InForce): Promise<InForce> {
    const kept = this.#keptOf(projectId);
    await kept.changing;
    const { current } = kept;
    if (current !== null && (await current) === outdated) forget(kept, current);
    return this.current(projectId);
  }

  #keptOf(projectId: string): Kept {
    const known = this.#kept.get(projectId);
    if (known !== undefined) return known;
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= projectsKept && oldest !== undefined) this.#kept.delete(oldest);
    const kept: Kept = { current: null, newest: null, changing: Promise.resolve() };
    this.#kept.set(projectId, kept);
    return kept;
  }
}

/** What comes is current until it fails or is forgotten. */
function take(kept: Kept, coming: Promise<InForce>): Promise<InForce> {
  kept.current = coming;
  coming.then(
    (loaded) => (kept.newest = loaded),
    () => forget(kept, coming),
  );
  return coming;
}

const applied = async (before: InForce, standing: Standing, index: number): Promise<InForce> =>
  before.after(standing, index);

/** The leaf of the change is the first of its append. */
function indexOf({ assigned }: Stored): number | null {
  const [leaf] = assigned;
  return leaf?.outcome === 'appended' ? leaf.index : null;
}

function forget(kept: Kept, what: Promise<InForce>): void {
  if (kept.current === what) kept.current = null;
}

/**
 * The set and its index are of one moment. The policies in review are read after it: where a change came
 * between, the index is not the newest one, so nothing that was decided with them can be recorded.
 */
async function load(
  store: Pick<StoreReader, 'policiesInForce' | 'policiesInReview'>,
  projectId: string,
  before: InForce | null,
): Promise<InForce> {
  const { policies, policyIndex } = await store.policiesInForce(projectId);
  const inReview = await store.policiesInReview(projectId);
  const set = await compiled(policies, before?.set ?? PolicySet.empty);
  const review = await compiled(inReview, before?.review ?? PolicySet.empty);
  return new InForce({ set, policyIndex, review }, before);
}

/** What is new is compiled in steps, so that a first load of ten thousand policies holds up nobody for long. */
async function compiled(policies: readonly ActivePolicy[], before: PolicySet): Promise<PolicySet> {
  const loaded = new Set(policies.map(({ policyId }) => policyId));
  let set = before;
  let changed = 0;
  const breathe = async (): Promise<void> => {
    if (++changed % compiledAtOnce === 0) await nextTurn();
  };
  for (const { policyId } of before.versions()) {
    if (loaded.has(policyId)) continue;
    set = set.without(policyId);
    await breathe();
  }
  for (const policy of policies) {
    const known = before.get(policy.policyId)?.policy;
    if (known?.policyHash === policy.policyHash && known.name === policy.name) continue;
    set = set.with(named(policy));
    await breathe();
  }
  return set;
}

const named = (active: ActivePolicy): PolicyVersion => versionOf(active, active.name);

/** A stored version as member of a set. */
export const versionOf = (stored: StoredPolicyVersion, name: string): PolicyVersion => ({
  policyId: stored.policyId,
  name,
  version: stored.version,
  action: stored.action,
  severity: stored.severity,
  condition: readJson(stored.normalized),
  policyHash: stored.policyHash,
});

/**
 * Keeps the policy sets in force in memory; each evaluation reads one immutable set. A change by this process
 * updates the set directly, one policy at a time. After a change by another process, the store refuses
 * evaluations with the old set as `outdated`, and the set is loaded again. Proven by
 * `test/service/in-force/policies.test.ts` (an updated set equals a loaded one) and
 * `test/service/policies/evaluate.engines.test.ts` (evaluations that race a publish).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PolicyStatus } from '../../contract/policy-words.ts';
import { readJson } from '../../core/json/parse.ts';
import { readSet, type ReadSet } from '../../core/policies/language/read-set.ts';
import { PolicySet, type PolicyVersion } from '../../core/policies/set/in-force.ts';
import type { ActivePolicy, StoredPolicyVersion, StoreReader } from '../../store/port/store.ts';
import type { RefusedAppend, StoredAppend } from '../log/append-result.ts';
import type { ReplayedResponse } from '../call/answer.ts';

/** Projects whose sets are kept; a new project replaces the oldest. */
const projectsKept = 100;

/** Policies compiled before other requests get a turn: 3 ms. */
const compiledAtOnce = 100;

export interface IdlePolicy {
  readonly name: string;
  readonly status: PolicyStatus;
}

/** A policy after a change; an absent member did not change. */
export interface ChangedPolicy {
  readonly policyId: string;
  /** The version in force; null for none. */
  readonly active?: PolicyVersion | null;
  /** The version in review; null for none. */
  readonly review?: PolicyVersion | null;
}

/** The policies in force in a project at one moment. */
export class PoliciesInForce {
  readonly set: PolicySet;
  /** Index of the newest gov.policy/1 leaf; null before any policy. */
  readonly policyIndex: number | null;
  /** The newest versions of policies in review: evaluated in addition, never enforced. */
  readonly review: PolicySet;
  /** Names and statuses of policies outside the set, cached on first use. */
  readonly idle: Map<string, IdlePolicy>;
  #reads: { readonly of: readonly [ReadSet, ReadSet]; readonly both: ReadSet } | null;

  constructor(
    parts: Pick<PoliciesInForce, 'set' | 'policyIndex' | 'review'>,
    before: PoliciesInForce | null = null,
    changed: string | null = null,
  ) {
    this.set = parts.set;
    this.policyIndex = parts.policyIndex;
    this.review = parts.review;
    this.idle = new Map(changed === null ? [] : before?.idle);
    if (changed !== null) this.idle.delete(changed);
    this.#reads = before === null ? null : before.#reads;
  }

  /**
   * The paths of a checkpoint that the conditions of both sets read. Costs nothing where neither changed its
   * paths.
   */
  get reads(): ReadSet {
    const of = [this.set.readSet, this.review.readSet] as const;
    const known = this.#reads;
    if (known !== null && known.of[0] === of[0] && known.of[1] === of[1]) return known.both;
    const both = readSet([...of[0].paths, ...of[1].paths]);
    this.#reads = { of, both };
    return both;
  }

  /** The policies in force after a change of one policy, whose leaf has this index. */
  after({ policyId, active, review }: ChangedPolicy, policyIndex: number): PoliciesInForce {
    const set = put(this.set, policyId, active);
    return new PoliciesInForce(
      { set, policyIndex, review: put(this.review, policyId, review) },
      this,
      policyId,
    );
  }
}

function put(set: PolicySet, policyId: string, version: PolicyVersion | null | undefined): PolicySet {
  if (version === undefined) return set;
  return version === null ? set.without(policyId) : set.with(version);
}

interface ProjectPolicies {
  /** Null after a change made it outdated. */
  current: Promise<PoliciesInForce> | null;
  /** The newest loaded set. The next load reuses its compiled policies. */
  newest: PoliciesInForce | null;
  /** Resolves after the append of the current change. */
  changing: Promise<unknown>;
}

export class PolicySets {
  readonly #store: Pick<StoreReader, 'policiesInForce' | 'policiesInReview'>;
  readonly #kept = new Map<string, ProjectPolicies>();

  constructor(store: Pick<StoreReader, 'policiesInForce' | 'policiesInReview'>) {
    this.#store = store;
  }

  /** The policies in force now. Cost: nothing, or reading all and compiling changed ones. */
  current(projectId: string): Promise<PoliciesInForce> {
    const kept = this.#keptOf(projectId);
    return kept.current ?? take(kept, load(this.#store, projectId, kept.newest));
  }

  /**
   * Appends a change of a policy and puts it in force. `append` gets the current set and must expect it, so
   * that a change by another process makes the append `outdated`. It gets null where the set could not be
   * loaded, because the change may repair it, and without `standing`; the set is then loaded again. Changes of a
   * project run one after the other.
   */
  async change<Outcome extends StoredAppend | ReplayedResponse | RefusedAppend>(
    projectId: string,
    standing: ChangedPolicy | null,
    append: (before: PoliciesInForce | null) => Promise<Outcome>,
  ): Promise<Outcome> {
    const before = standing === null ? null : await this.current(projectId).catch(() => null);
    const kept = this.#keptOf(projectId);
    const changing = append(before).then((result) => {
      if ('outcome' in result) {
        const index = result.outcome === 'stored' ? indexOf(result) : null;
        kept.current = null;
        if (standing !== null && before !== null && index !== null)
          void take(kept, applied(before, standing, index));
      }
      return result;
    });
    kept.changing = changing.catch(() => null);
    return changing;
  }

  /** Like `change`, for many policies at once; loads the set again afterwards. */
  async changeMany<Outcome extends StoredAppend | ReplayedResponse | RefusedAppend>(
    projectId: string,
    append: (before: PoliciesInForce) => Promise<Outcome>,
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

  /** The policies in force after the store refused an evaluation with `outdated`. */
  async newer(projectId: string, outdated: PoliciesInForce): Promise<PoliciesInForce> {
    const kept = this.#keptOf(projectId);
    await kept.changing;
    const { current } = kept;
    if (current !== null && (await current) === outdated) forget(kept, current);
    return this.current(projectId);
  }

  #keptOf(projectId: string): ProjectPolicies {
    const known = this.#kept.get(projectId);
    if (known !== undefined) return known;
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= projectsKept && oldest !== undefined) this.#kept.delete(oldest);
    const kept: ProjectPolicies = { current: null, newest: null, changing: Promise.resolve() };
    this.#kept.set(projectId, kept);
    return kept;
  }
}

/** Makes a load current until it fails or a change drops it. */
function take(kept: ProjectPolicies, coming: Promise<PoliciesInForce>): Promise<PoliciesInForce> {
  kept.current = coming;
  coming.then(
    (loaded) => (kept.newest = loaded),
    () => forget(kept, coming),
  );
  return coming;
}

const applied = async (
  before: PoliciesInForce,
  standing: ChangedPolicy,
  index: number,
): Promise<PoliciesInForce> => before.after(standing, index);

/** The index of the change's leaf, the first of its append. */
function indexOf({ assigned }: StoredAppend): number | null {
  const [leaf] = assigned;
  return leaf?.outcome === 'appended' ? leaf.index : null;
}

function forget(kept: ProjectPolicies, what: Promise<PoliciesInForce>): void {
  if (kept.current === what) kept.current = null;
}

/**
 * Loads set and index of one moment. Policies in review are read afterwards: where a change came between, the
 * index is outdated, so the store refuses whatever was decided with it.
 */
async function load(
  store: Pick<StoreReader, 'policiesInForce' | 'policiesInReview'>,
  projectId: string,
  before: PoliciesInForce | null,
): Promise<PoliciesInForce> {
  const { policies, policyIndex } = await store.policiesInForce(projectId);
  const inReview = await store.policiesInReview(projectId);
  const set = await compiled(policies, before?.set ?? PolicySet.empty);
  const review = await compiled(inReview, before?.review ?? PolicySet.empty);
  return new PoliciesInForce({ set, policyIndex, review }, before);
}

/**
 * Compiles new versions in steps, so that a first load of ten thousand policies blocks no request for long.
 */
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

/** A stored version as a member of a set. */
export const versionOf = (stored: StoredPolicyVersion, name: string): PolicyVersion => ({
  policyId: stored.policyId,
  name,
  version: stored.version,
  action: stored.action,
  severity: stored.severity,
  requireSignedApproval: stored.requireSignedApproval,
  onIndeterminate: stored.onIndeterminate,
  condition: readJson(stored.normalized),
  policyHash: stored.policyHash,
});

/**
 * The policy sets in force, in memory: evaluations read one immutable set, which is loaded anew after a change.
 * A set that another process changed meanwhile is found out by the store, which refuses what was decided with
 * it as `outdated`. Proven by `test/service/evaluate.test.ts` (evaluations that race a publish).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PolicyStatus } from '../contract/policywords.ts';
import { readJson } from '../core/json.ts';
import { readSet, type ReadSet } from '../core/policy/readset.ts';
import { PolicySet, type PolicyVersion } from '../core/policy/set.ts';
import type { ActivePolicy, StoredPolicyVersion, StoreReader } from '../store/port.ts';

/** Whose sets are kept; another one that is asked for is loaded in its place. */
const projectsKept = 100;

/** Policies that are compiled before other requests have their turn: 10 ms. */
const compiledAtOnce = 500;

/** What is in force at one moment of a project. */
export interface InForce {
  readonly set: PolicySet;
  /** Index of the newest gov.policy/1 leaf; null before any policy. */
  readonly policyIndex: number | null;
  /** The newest versions of policies in review: evaluated beside, never enforced. */
  readonly review: PolicySet;
  /** What the conditions of both read of a checkpoint. */
  readonly reads: ReadSet;
  /** Names and statuses of policies that are not in the set, as they were asked for. */
  readonly idle: Map<string, IdlePolicy>;
}

export interface IdlePolicy {
  readonly name: string;
  readonly status: PolicyStatus;
}

interface Kept {
  /** Null once a change made it old. */
  current: Promise<InForce> | null;
  /** The newest that was loaded: what it compiled serves the next. */
  newest: InForce | null;
}

export class PolicySets {
  readonly #store: StoreReader;
  readonly #kept = new Map<string, Kept>();

  constructor(store: StoreReader) {
    this.#store = store;
  }

  /** What is in force now. Cost: nothing, or reading all and compiling what changed since the last time. */
  current(projectId: string): Promise<InForce> {
    const kept = this.#kept.get(projectId) ?? this.#keep(projectId);
    if (kept.current !== null) return kept.current;
    const loading = load(this.#store, projectId, kept.newest);
    kept.current = loading;
    loading.then(
      (loaded) => (kept.newest = loaded),
      () => forget(kept, loading),
    );
    return loading;
  }

  /** Call it once a change of the project's policies is stored: what is asked for from then on knows it. */
  changed(projectId: string): void {
    const kept = this.#kept.get(projectId);
    if (kept !== undefined) kept.current = null;
  }

  /** What is in force where the store refused what was decided with `outdated`. */
  async newer(projectId: string, outdated: InForce): Promise<InForce> {
    const kept = this.#kept.get(projectId);
    const current = kept?.current ?? null;
    if (kept !== undefined && current !== null && (await current) === outdated) forget(kept, current);
    return this.current(projectId);
  }

  #keep(projectId: string): Kept {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= projectsKept && oldest !== undefined) this.#kept.delete(oldest);
    const kept: Kept = { current: null, newest: null };
    this.#kept.set(projectId, kept);
    return kept;
  }
}

function forget(kept: Kept, what: Promise<InForce>): void {
  if (kept.current === what) kept.current = null;
}

/**
 * The set and its index are of one moment. The policies in review are read after it: where a change came
 * between, the index is not the newest one, so nothing that was decided with them can be recorded.
 */
async function load(store: StoreReader, projectId: string, before: InForce | null): Promise<InForce> {
  const { policies, policyIndex } = await store.policiesInForce(projectId);
  const inReview = await store.policiesInReview(projectId);
  const set = await compiled(policies, before?.set ?? PolicySet.empty);
  const review = await compiled(inReview, before?.review ?? PolicySet.empty);
  const reads = readSet([...set.readSet.paths, ...review.readSet.paths]);
  return { set, policyIndex, review, reads, idle: new Map() };
}

/** Compiles in steps, so that a first load of ten thousand policies holds up nobody for long. */
async function compiled(policies: readonly ActivePolicy[], before: PolicySet): Promise<PolicySet> {
  const fresh = policies.filter(
    ({ policyId, policyHash }) => before.get(policyId)?.policy.policyHash !== policyHash,
  );
  let set = before;
  for (let from = 0; fresh.length - from > compiledAtOnce; from += compiledAtOnce) {
    const step = new Map(fresh.slice(from, from + compiledAtOnce).map((each) => [each.policyId, each]));
    const others = set.versions().filter(({ policyId }) => !step.has(policyId));
    set = PolicySet.of([...others, ...[...step.values()].map(named)], set);
    await nextTurn();
  }
  return PolicySet.of(policies.map(named), set);
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

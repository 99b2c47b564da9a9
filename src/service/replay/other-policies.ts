/**
 * Chooses the policies with which a replay compares the recorded ones, to grade drift: those of the given
 * snapshot. Without one, those in force now, if the run's snapshot names policies of this project. Proven by
 * `test/service/replay/handlers.engines.test.ts`.
 */
import type { SnapshotInput } from '../../contract/governance.ts';
import type { Snapshot } from '../../core/decided/snapshot.ts';
import { parseHash } from '../../core/hash.ts';
import type { PolicySet } from '../../core/policies/set/in-force.ts';
import type { RunAt } from '../proofs/decided-leaves.ts';
import { LoggedPolicies } from '../in-force/logged.ts';
import type { TaskContext } from '../call/work.ts';

interface OtherPolicies {
  /** The other side of the drift; null where it is unknown. */
  readonly actual: Snapshot | null;
  /** Null where the policies are the run's own, or unknown. */
  readonly set: PolicySet | null;
  readonly warnings: readonly string[];
}

/** The most policies that the search for a set hashes, summed over all sets: 3 s. */
const searchedPolicies = 2_000_000;

export async function otherPolicies(
  context: TaskContext,
  run: RunAt,
  { recorded, given }: { readonly recorded: Snapshot | null; readonly given: SnapshotInput | null },
): Promise<OtherPolicies> {
  const same = { actual: given ?? recorded, set: null, warnings: [] };
  if (recorded === null || recorded.policyHash === '') return same;
  if (given === null) {
    const now = new LoggedPolicies(context, run, run.treeSize);
    await now.advance(run.treeSize);
    const { policySetHash } = now.timeline;
    if (recorded.policyHash === policySetHash) return same;
    if ((await setWithHash(context, run, recorded.policyHash)) === null) return same;
    const actual = { ...recorded, policyHash: policySetHash };
    return withSet(actual, await complete(now));
  }
  if (given.policyHash === '' || given.policyHash === recorded.policyHash) return same;
  return withSet(given, await setWithHash(context, run, given.policyHash));
}

const withSet = (actual: Snapshot, set: PolicySet | null): OtherPolicies => ({
  actual,
  set,
  warnings:
    set === null
      ? [`policies ${actual.policyHash} are not known here: how they decide was not compared`]
      : [],
});

/** The set that had this hash at some time, or null. */
async function setWithHash(context: TaskContext, run: RunAt, hash: string): Promise<PolicySet | null> {
  if (parseHash(hash) === null) return null;
  const policies = new LoggedPolicies(context, run, run.treeSize);
  let searched = 0;
  let found = policies.timeline.policySetHash === hash;
  if (found) return complete(policies);
  await policies.advance(run.treeSize, () => {
    searched += policies.timeline.versions.size;
    if (searched > searchedPolicies) return true;
    found = policies.timeline.policySetHash === hash;
    return found;
  });
  if (!found) {
    // beyond the limit, only the newest set is compared
    await policies.advance(run.treeSize);
    found = policies.timeline.policySetHash === hash;
  }
  return found ? complete(policies) : null;
}

/** The current set. Null where a version in it differs from the log. */
async function complete(policies: LoggedPolicies): Promise<PolicySet | null> {
  const { set, policySetHash } = await policies.current();
  return set.policySetHash === policySetHash ? set : null;
}

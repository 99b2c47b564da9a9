/**
 * The policies in force at each index of the log, from its leaves. Each stored version is checked against its
 * logged hash, so a recomputation evaluates the policies of that time, whatever changed since. Proven by
 * `test/service/proofs/compliance.engines.test.ts` and `test/service/replay/handlers.engines.test.ts`.
 */
import { openPolicyChange } from '../../core/decided/policy-change.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { GovError } from '../../contract/problems.ts';
import { readJson } from '../../core/json/parse.ts';
import { policyHash } from '../../core/policies/language/hash.ts';
import { PolicySet, type PolicyVersion } from '../../core/policies/set/in-force.ts';
import { PolicyTimeline } from '../../core/decided/timeline.ts';
import type { StoreReader } from '../../store/port/store.ts';
import type { TaskContext } from '../call/work.ts';
import { LeafReader } from './leaf-reader.ts';

/** A set of policies that was in force. */
export interface LoggedSet {
  readonly policyIndex: number | null;
  /** From the leaves alone. */
  readonly policySetHash: string;
  /** The stored versions. A version that differs from the log has a hash of its own. */
  readonly set: PolicySet;
  /** Policies whose version is missing from the store or does not compile. */
  readonly unknown: readonly string[];
}

/** Reads the log once, forwards. Memory: the policies in force, compiled. */
export class LoggedPolicies {
  readonly timeline = new PolicyTimeline();
  readonly #context: Pick<TaskContext, 'reader' | 'breathe'>;
  readonly #projectId: string;
  readonly #leaves: LeafReader;
  #built: LoggedSet | null = null;
  #versions: ReadonlyMap<string, PolicyVersion | null> = new Map();

  /** Reads `gov.policy/1` leaves below `beforeIndex`. */
  constructor(
    context: Pick<TaskContext, 'reader' | 'breathe'>,
    { projectId }: { readonly projectId: string },
    beforeIndex: number,
  ) {
    this.#context = context;
    this.#projectId = projectId;
    this.#leaves = new LeafReader(context, { projectId, type: 'gov.policy/1', beforeIndex });
  }

  /** Applies the changes below an index; stops after the change for which `until` returns true. */
  async advance(index: number, until: () => boolean = () => false): Promise<void> {
    for (
      let leaf = await this.#leaves.below(index);
      leaf !== undefined;
      leaf = await this.#leaves.below(index)
    ) {
      this.timeline.add(leaf.index, openPolicyChange(openLeaf(leaf)));
      if (until()) return;
    }
  }

  /** The set in force at a leaf. Indexes must not decrease between calls. */
  async at(index: number): Promise<LoggedSet> {
    await this.advance(index);
    return this.current();
  }

  /**
   * The set in force after the changes applied so far. Cost: nothing, or reading and compiling new versions.
   */
  async current(): Promise<LoggedSet> {
    const { policyIndex, policySetHash } = this.timeline;
    const built = this.#built;
    if (built !== null && built.policySetHash === policySetHash) {
      this.#built = { ...built, policyIndex };
      return this.#built;
    }
    const versions = await this.#versionsInForce();
    const known = [...versions.values()].filter((version) => version !== null);
    const set = PolicySet.of(known, built?.set);
    const unknown = [...this.timeline.versions.keys()].filter((policyId) => set.get(policyId) === undefined);
    this.#versions = versions;
    this.#built = { policyIndex, policySetHash, set, unknown };
    return this.#built;
  }

  /** Versions by `<policyId> <version> <logged hash>`; drops those no longer in force. */
  async #versionsInForce(): Promise<Map<string, PolicyVersion | null>> {
    const { reader, breathe } = this.#context;
    const versions = new Map<string, PolicyVersion | null>();
    for (const [policyId, { version, policyHash: logged }] of this.timeline.versions) {
      const key = `${policyId} ${version} ${logged}`;
      const known = this.#versions.get(key);
      versions.set(
        key,
        known === undefined ? await versionOf(reader, this.#projectId, { policyId, version }) : known,
      );
      if (known === undefined) await breathe();
    }
    return versions;
  }
}

/** A stored version under the hash of its content. Null where it is missing or does not compile. */
async function versionOf(
  reader: StoreReader,
  projectId: string,
  { policyId, version }: { policyId: string; version: number },
): Promise<PolicyVersion | null> {
  const stored = await reader.policyVersion(projectId, policyId, version);
  if (stored === null) return null;
  const { action, severity, requireSignedApproval, onIndeterminate, normalized } = stored;
  try {
    const condition = readJson(normalized);
    const rest = { action, severity, requireSignedApproval, onIndeterminate, condition };
    const content = { policyId, version, ...rest };
    return { ...content, name: '', policyHash: policyHash(content) };
  } catch (error) {
    if (error instanceof GovError || error instanceof SyntaxError) return null;
    throw error;
  }
}

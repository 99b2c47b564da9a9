/**
 * The plan for a new configuration: the leaves and rows that put its policies in force in one append. Writes
 * nothing. Versions keep the numbers of the service, so a policy has the same hash at the plane and the
 * service. The plan keeps the plane's own policies, except in the mode where only those of the service apply.
 * Proven by `test/plane/config/apply.test.ts`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ConfiguredPolicy, PlaneConfigDocument, PolicyMode } from '../../src/contract/plane-config.ts';
import { limits } from '../../src/contract/limits.ts';
import { nameOf, unsaid } from '../../src/contract/policy-words.ts';
import type { PolicyName, PolicyStatus } from '../../src/contract/policy-words.ts';
import { PlaneConfigError } from '../../src/core/planes/config.ts';
import { draftPolicyChange, type PolicyChangeEvent } from '../../src/core/decided/policy-change.ts';
import { draftConfigChange } from '../../src/core/decided/risk-config.ts';
import { canonicalize, type Json, type JsonObject } from '../../src/core/json/parse.ts';
import type { PolicySet } from '../../src/core/policies/set/in-force.ts';
import type { LeafDraft } from '../../src/core/events/record.ts';
import { riskRouter, type RiskSettings } from '../../src/core/risk/config.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import type { PlainEffect } from '../../src/service/writes/append.ts';
import type { StoredPolicy, StoredPolicyVersion, StoreReader } from '../../src/store/port/store.ts';

/** The author of everything that a configuration brought. No key and no person has this id. */
export const configAuthor = 'gov.bundle';

/** The plan checks this many policies before it yields to other requests. */
const lookedAtOnce = 200;

export interface PlanInput {
  readonly store: StoreReader;
  /** The project of the plane, not of the service. */
  readonly projectId: string;
  readonly bundle: PlaneConfigDocument;
  readonly mode: PolicyMode;
  /** The policies in force now. */
  readonly set: PolicySet;
  /** `configHash` of the present risk router. */
  readonly configHash: string;
  readonly atMs: number;
  readonly salt: () => string;
}

export interface Plan {
  readonly leaves: readonly LeafDraft[];
  readonly effects: readonly PlainEffect[];
  readonly added: number;
  readonly changed: number;
  readonly archived: number;
  readonly unchanged: number;
  readonly riskConfig: boolean;
}

/**
 * Returns the plan. Throws PlaneConfigError where the configuration does not fit: `policy_taken`,
 * `policy_rewritten`, `policy_invalid`, `too_many_policies`. Cost: two reads a policy.
 */
export async function planOf(input: PlanInput): Promise<Plan> {
  const { bundle, set } = input;
  const draft = new Draft(input);
  const kept = new Set(bundle.policies.map(({ policyId }) => policyId));
  let looked = 0;
  const breathe = async (): Promise<void> => {
    if (++looked % lookedAtOnce === 0) await nextTurn();
  };
  let others = 0;
  // archive first, so that new policies have room
  for (const { policyId } of set.versions()) {
    if (kept.has(policyId)) continue;
    if (!(await draft.leave(policyId))) others++;
    await breathe();
  }
  const limit = limits.policiesActive;
  if (others + kept.size > limit) {
    const detail = `expected at most ${limit} active policies, got ${kept.size} and ${others} of the plane`;
    throw new PlaneConfigError('too_many_policies', detail);
  }
  for (const policy of bundle.policies) {
    await draft.take(policy);
    await breathe();
  }
  draft.configure();
  return draft.plan();
}

class Draft {
  readonly #input: PlanInput;
  readonly #at: string;
  readonly #reason: string;
  readonly #leaves: LeafDraft[] = [];
  readonly #effects: PlainEffect[] = [];
  #counts = { added: 0, changed: 0, archived: 0, unchanged: 0 };
  #riskConfig = false;

  constructor(input: PlanInput) {
    const { bundleVersion, projectId } = input.bundle;
    this.#input = input;
    this.#at = formatTimestamp(input.atMs);
    this.#reason = `configuration ${bundleVersion} of ${projectId}`;
  }

  plan(): Plan {
    return {
      leaves: this.#leaves,
      effects: this.#effects,
      ...this.#counts,
      riskConfig: this.#riskConfig,
    };
  }

  /** Archives an active policy that the configuration lacks. Returns false where the policy stays. */
  async leave(policyId: string): Promise<boolean> {
    const { store, projectId, mode, atMs } = this.#input;
    const policy = await store.policy(projectId, policyId);
    if (policy === null || policy.status !== 'active' || policy.activeVersion === null) return false;
    if (policy.createdBy !== configAuthor && mode !== 'service') return false;
    const { activeVersion, revision } = policy;
    const version = await store.policyVersion(projectId, policyId, activeVersion);
    if (version === null)
      throw new Error(`policy ${policyId} names version ${activeVersion}, which is not stored`);
    this.#log(version, { event: 'transition', from: 'active', to: 'archived' });
    this.#effects.push({
      kind: 'movePolicy',
      policyId,
      revision,
      status: 'archived',
      activeVersion: null,
      lastActiveVersion: activeVersion,
      atMs,
    });
    this.#counts.archived++;
    return true;
  }

  async take(policy: ConfiguredPolicy): Promise<void> {
    const { store, projectId } = this.#input;
    const { policyId, version } = policy;
    if (version > limits.policyVersions) {
      const detail = `expected at most ${limits.policyVersions} versions of policy ${policyId}, got ${version}`;
      throw new PlaneConfigError('policy_invalid', detail);
    }
    const before = await store.policy(projectId, policyId);
    const stored = before === null ? null : await store.policyVersion(projectId, policyId, version);
    if (before === null) return this.#create(policy);
    refuseOthers(before, stored, policy);
    if (before.status === 'active' && before.activeVersion === version) {
      this.#counts.unchanged++;
      return;
    }
    this.#counts.changed++;
    let { revision } = before;
    if (stored === null) {
      const made = this.#version(policy);
      this.#log(made, { event: 'version_added', from: before.status, to: before.status });
      this.#effects.push({ kind: 'addPolicyVersion', version: made, revision, counted: 'elsewhere' });
      revision++;
    }
    this.#publish(policy, { from: before.status, revision });
  }

  #create(policy: ConfiguredPolicy): void {
    const { policyId, version } = policy;
    const named = nameOf({ ...unsaid, ...policy });
    const { atMs } = this.#input;
    const made = this.#version(policy);
    this.#log(made, { event: 'created', from: null, to: 'draft', named });
    this.#effects.push({
      kind: 'createPolicy',
      policy: {
        policyId,
        ...named,
        status: 'draft',
        activeVersion: null,
        lastActiveVersion: null,
        latestVersion: version,
        revision: 1,
        createdMs: atMs,
        createdBy: configAuthor,
        updatedMs: atMs,
      },
      version: made,
    });
    this.#publish(policy, { from: 'draft', revision: 1 });
    this.#counts.added++;
  }

  #publish(policy: ConfiguredPolicy, { from, revision }: { from: PolicyStatus; revision: number }): void {
    const { policyId, version } = policy;
    this.#log(policy, { event: 'published', from, to: 'active' });
    this.#effects.push({
      kind: 'movePolicy',
      policyId,
      revision,
      status: 'active',
      activeVersion: version,
      lastActiveVersion: version,
      atMs: this.#input.atMs,
    });
  }

  #version({
    policyId,
    version,
    condition,
    action,
    severity,
    requireSignedApproval,
    onIndeterminate,
    policyHash,
  }: ConfiguredPolicy): StoredPolicyVersion {
    const text = canonicalize(condition as Json); // the condition was parsed from a text
    return {
      policyId,
      version,
      condition: text,
      normalized: text,
      action,
      severity,
      requireSignedApproval: requireSignedApproval === true,
      onIndeterminate: onIndeterminate ?? null,
      policyHash,
      createdMs: this.#input.atMs,
      createdBy: configAuthor,
      published: false,
    };
  }

  #log(
    { policyId, version, policyHash }: Pick<StoredPolicyVersion, 'policyId' | 'version' | 'policyHash'>,
    move: { event: PolicyChangeEvent; from: PolicyStatus | null; to: PolicyStatus; named?: PolicyName },
  ): void {
    const fields = { policyId, version, policyHash, ...move, at: this.#at };
    const change = { ...fields, actor: configAuthor, reason: this.#reason };
    this.#leaves.push(draftPolicyChange(change, this.#input.salt));
  }

  /** Sets the risk router where the configuration has another one. */
  configure(): void {
    const { bundle, configHash, salt, atMs } = this.#input;
    if (bundle.riskConfig === null) return;
    const router = riskRouter(bundle.riskConfig.config as RiskSettings);
    if (router.configHash === configHash) return;
    // JSON by its type
    const config = router.config as unknown as JsonObject;
    const change = { configHash: router.configHash, at: this.#at, config, actor: configAuthor };
    this.#leaves.push(draftConfigChange(change, salt));
    this.#effects.push({ kind: 'saveRiskConfig', config: router.text, atMs });
    this.#riskConfig = true;
  }
}

function refuseOthers(
  before: StoredPolicy,
  stored: StoredPolicyVersion | null,
  { policyId, version, policyHash }: ConfiguredPolicy,
): void {
  if (before.createdBy !== configAuthor) {
    const detail =
      `expected policy id ${policyId} to be free, but a policy of the plane has it; ` +
      'give one of the two another id';
    throw new PlaneConfigError('policy_taken', detail);
  }
  if (stored === null || stored.policyHash === policyHash) return;
  const detail =
    `expected version ${version} of policy ${policyId} to have its first hash, ` +
    `${stored.policyHash}, got ${policyHash}; let the service add a version instead`;
  throw new PlaneConfigError('policy_rewritten', detail);
}

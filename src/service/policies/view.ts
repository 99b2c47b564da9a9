/**
 * Policies and their versions as answers show them (contract G1). Proven by
 * `test/service/policies/handlers.engines.test.ts`.
 */
import type { Policy, PolicyVersion } from '../../contract/policies.ts';
import { nameOf } from '../../contract/policy-words.ts';
import { readJson, type JsonObject } from '../../core/json/parse.ts';
import { parseCondition } from '../../core/policies/language/parse.ts';
import { printText } from '../../core/policies/language/text.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { StoredPolicy, StoredPolicyVersion, StoreReader } from '../../store/port/store.ts';

/** A policy with its active and its newest version. */
interface WholePolicy {
  readonly policy: StoredPolicy;
  readonly active: StoredPolicyVersion | null;
  readonly latest: StoredPolicyVersion;
}

/** Reads two versions at most. Versions never change, so the reads need not be of one moment. */
export async function wholePolicy(
  store: StoreReader,
  projectId: string,
  policy: StoredPolicy,
): Promise<WholePolicy> {
  const { activeVersion, latestVersion } = policy;
  const latest = await requireVersion(store, projectId, policy.policyId, latestVersion);
  if (activeVersion === null) return { policy, active: null, latest };
  if (activeVersion === latestVersion) return { policy, active: latest, latest };
  return { policy, active: await requireVersion(store, projectId, policy.policyId, activeVersion), latest };
}

/** A version that the policy's row names. */
async function requireVersion(
  store: StoreReader,
  projectId: string,
  policyId: string,
  version: number,
): Promise<StoredPolicyVersion> {
  const found = await store.policyVersion(projectId, policyId, version);
  if (found === null)
    throw new Error(`expected version ${version} of policy ${policyId} in the store, got none`);
  return found;
}

export const policyBody = ({ policy, active, latest }: WholePolicy): Policy => ({
  id: policy.policyId,
  ...nameOf(policy),
  status: policy.status,
  activeVersion: policy.activeVersion,
  latestVersion: policy.latestVersion,
  revision: policy.revision,
  active: active === null ? null : versionBody(active),
  latest: versionBody(latest),
  createdAt: formatTimestamp(policy.createdMs),
  createdBy: policy.createdBy,
  updatedAt: formatTimestamp(policy.updatedMs),
});

export function versionBody(stored: StoredPolicyVersion): PolicyVersion {
  const normalized = readJson(stored.normalized);
  return {
    policyId: stored.policyId,
    version: stored.version,
    condition: readJson(stored.condition) as JsonObject,
    normalized,
    text: printText(parseCondition(normalized)),
    action: stored.action,
    severity: stored.severity,
    requireSignedApproval: stored.requireSignedApproval,
    onIndeterminate: stored.onIndeterminate,
    policyHash: stored.policyHash,
    createdAt: formatTimestamp(stored.createdMs),
    createdBy: stored.createdBy,
  };
}

/** Roughly the bytes of a version in an answer: its condition as sent, canonical, and as text. */
export const versionBytes = ({ condition, normalized }: StoredPolicyVersion): number =>
  condition.length + 2 * normalized.length;

export const policyBytes = ({ active, latest }: WholePolicy): number =>
  versionBytes(latest) + (active === null ? 0 : versionBytes(active));

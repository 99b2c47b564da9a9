/**
 * The leaf of a policy change, `gov.policy/1` (`docs/reference/proof-format.md`): a version came into force or left it.
 * The policy set in force at every index of the log follows from these leaves only.
 * Proven by `test/core/decided/timeline.test.ts`.
 */
import { nameMembers, nameOf, unsaid } from '../../contract/policy-words.ts';
import type { PolicyName, PolicyStatus } from '../../contract/policy-words.ts';
import type { Json } from '../json/parse.ts';
import { draftLeaf, type OtherDraft } from '../events/record.ts';
import type { OpenLeaf } from './leaf.ts';

export const policyChangeEvents = [
  'created',
  'version_added',
  'published',
  'transition',
  'rolled_back',
] as const;
export type PolicyChangeEvent = (typeof policyChangeEvents)[number];

export interface PolicyChange {
  readonly policyId: string;
  /** The version of the change; in force after it if `to` is active. */
  readonly version: number;
  readonly policyHash: string;
  readonly event: PolicyChangeEvent;
  /** Status before the change, null if the change created the policy; status after it. */
  readonly from: PolicyStatus | null;
  readonly to: PolicyStatus;
  readonly at: string;
}

/** Drafts the leaf of a change; `named` if the change creates the policy. */
export function draftPolicyChange(
  change: PolicyChange & {
    readonly reason: string | null;
    readonly actor: string;
    readonly named?: PolicyName;
  },
  salt: () => string,
): OtherDraft {
  const { reason, actor, named, ...fields } = change;
  const committed: [string, Json][] = [
    ['/actor', actor],
    ['/reason', reason],
  ];
  if (named !== undefined) for (const member of nameMembers) committed.push([`/${member}`, named[member]]);
  return draftLeaf('gov.policy/1', { ...fields }, { committed, salt });
}

/** Reads a leaf. Members that were erased, or that the leaf does not have, are null. */
export function openPolicyChange({ clear, committed }: OpenLeaf): PolicyChange & {
  readonly reason: string | null;
  readonly actor: string | null;
  readonly named: PolicyName | null;
} {
  const { policyId, version, policyHash, event, from, to, at } = clear as unknown as PolicyChange;
  const text = (name: string): string | null => (committed.get(name) ?? null) as string | null;
  const name = text('name');
  // a leaf that is older than a member does not have it
  const said = Object.fromEntries([...committed].filter(([, value]) => value !== null));
  const named = name === null ? null : nameOf({ ...unsaid, ...said, name });
  const rest = { reason: text('reason'), actor: text('actor'), named };
  return { policyId, version, policyHash, event, from, to, at, ...rest };
}

/** Policy id → version and hash in force. */
export type VersionsInForce = Map<string, { readonly version: number; readonly policyHash: string }>;

/** Applies one change, in log order. A version that is only added or created changes nothing in force. */
export function applyPolicyChange(
  inForce: VersionsInForce,
  { policyId, version, policyHash, event, to }: PolicyChange,
): void {
  if (event === 'created' || event === 'version_added') return;
  if (to === 'active') inForce.set(policyId, { version, policyHash });
  else inForce.delete(policyId);
}

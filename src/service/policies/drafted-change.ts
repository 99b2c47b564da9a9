/** A change of a policy before it is appended: the events, the effect and what then is in force. */
import type { PolicyStatus } from '../../contract/policy-words.ts';
import type { PolicyChangeEvent, PolicyName } from '../../core/decided/policy-change.ts';
import type { GovernanceEffect } from '../../store/port/store.ts';
import type { ChangedPolicy } from './in-force.ts';

export interface DraftedChange {
  readonly policyId: string;
  readonly event: PolicyChangeEvent;
  /** The version that the change is about. */
  readonly version: number;
  readonly policyHash: string;
  readonly from: PolicyStatus | null;
  readonly to: PolicyStatus;
  readonly reason: string | null;
  /** Where the policy is created. */
  readonly named?: PolicyName;
  readonly effect: Exclude<GovernanceEffect, { kind: 'decideApproval' }>;
  /** Of the policy after it. */
  readonly revision: number;
  readonly standing: Omit<ChangedPolicy, 'policyId'>;
}

/**
 * A policy change before it is appended: its events, its effect, and the policy in force after it. Proven by
 * `test/service/policies/handlers.engines.test.ts`.
 */
import type { PolicyName, PolicyStatus } from '../../contract/policy-words.ts';
import type { PolicyChangeEvent } from '../../core/decided/policy-change.ts';
import type { GovernanceEffect } from '../../store/port/store.ts';
import type { ChangedPolicy } from './policies.ts';

export interface DraftedChange {
  readonly policyId: string;
  readonly event: PolicyChangeEvent;
  /** The version that changes. */
  readonly version: number;
  readonly policyHash: string;
  readonly from: PolicyStatus | null;
  readonly to: PolicyStatus;
  readonly reason: string | null;
  /** Present where the change creates the policy. */
  readonly named?: PolicyName;
  readonly effect: Exclude<GovernanceEffect, { kind: 'decideApproval' }>;
  /** The revision of the policy after the change. */
  readonly revision: number;
  readonly standing: Omit<ChangedPolicy, 'policyId'>;
}

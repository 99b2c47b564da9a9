/**
 * The columns of policies and their versions.
 * Proven by `test/store/suite/governance/policies.ts`.
 */
import type { StoredPolicy, StoredPolicyVersion } from '../port/store.ts';
import { columnsOf, flag, words } from './columns.ts';

export const policyColumns = columnsOf<StoredPolicy>('policy', {
  policyId: 'policy_id',
  name: words('name'),
  description: words('description'),
  status: 'status',
  activeVersion: 'active_version',
  lastActiveVersion: 'last_active_version',
  latestVersion: 'latest_version',
  revision: 'revision',
  createdMs: 'created_ms',
  createdBy: 'created_by',
  updatedMs: 'updated_ms',
});

export const versionColumns = columnsOf<StoredPolicyVersion>('policy_version', {
  policyId: 'policy_id',
  version: 'version',
  condition: 'condition',
  normalized: 'normalized',
  action: 'action',
  severity: 'severity',
  requireSignedApproval: flag('require_signed'),
  onIndeterminate: 'on_indeterminate',
  policyHash: 'policy_hash',
  createdMs: 'created_ms',
  createdBy: 'created_by',
  published: flag('published'),
});

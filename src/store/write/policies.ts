/**
 * Writes of policies and their versions. `EffectRows` says what each one is.
 * Proven by `test/store/suite/governance/policies.ts`.
 */
import type { GovernanceEffect, StoredPolicy, StoredPolicyVersion } from '../port/store.ts';
import { policyColumns, versionColumns } from '../rules/policy-row.ts';
import { insert, update, type Writer } from './statement.ts';

const create = insert(policyColumns);
const move = update(policyColumns, {
  set: ['status', 'activeVersion', 'lastActiveVersion', 'updatedMs'],
  by: ['policyId'],
  also: 'revision = revision + 1',
});
const raise = update(policyColumns, {
  set: ['latestVersion', 'updatedMs'],
  by: ['policyId'],
  also: 'revision = revision + 1',
});
const saveVersion = insert(versionColumns);
const publish = update(versionColumns, { set: ['published'], by: ['policyId', 'version'] });

type Move = Extract<GovernanceEffect, { kind: 'movePolicy' }>;

export const policyWrites = <Done>(run: Writer<Done>) => ({
  createPolicy: (made: StoredPolicy) => run(create, made),
  movePolicy: ({ policyId, status, activeVersion, lastActiveVersion, atMs }: Move) =>
    run(move, { policyId, status, activeVersion, lastActiveVersion, updatedMs: atMs }),
  saveVersion: (made: StoredPolicyVersion) => run(saveVersion, made),
  raiseVersion: ({ policyId, version, createdMs }: StoredPolicyVersion) =>
    run(raise, { policyId, latestVersion: version, updatedMs: createdMs }),
  publish: (policyId: string, version: number) => run(publish, { policyId, version, published: true }),
});

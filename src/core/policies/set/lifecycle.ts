/**
 * The life cycle of a policy: draft, review, active, disabled, archived (contract G1-G3, Z4, Z5). A policy has an active
 * version only in `active`, where it is in force, and in `disabled`, which remembers it. Nothing here writes: the caller
 * stores the result with its audit event in one transaction. Proven by `test/core/policies/set/lifecycle.test.ts`.
 */
import type { PolicyStatus } from '../../../contract/policy-words.ts';
import { GovError } from '../../../contract/problems.ts';

/** The allowed targets of a transition from each status. */
const moves: Readonly<Record<PolicyStatus, readonly PolicyStatus[]>> = {
  draft: ['review', 'active', 'archived'],
  review: ['draft', 'active', 'archived'],
  active: ['disabled', 'archived'],
  disabled: ['active', 'archived'],
  // Every status may move to archived, archived too (contract Z4); this move changes nothing.
  archived: ['draft', 'archived'],
};

interface PolicyState {
  readonly status: PolicyStatus;
  /** Null except in `active` and `disabled`. */
  readonly activeVersion: number | null;
}

interface Version {
  /** Whether it was ever the active version. */
  readonly published: boolean;
}

/** The state of a policy that its moves depend on. */
export interface PolicyLife extends PolicyState {
  readonly newestVersion: number;
  /** Undefined for a version that does not exist. */
  readonly version: (version: number) => Version | undefined;
}

export interface PolicyTransition extends PolicyState {
  readonly previousStatus: PolicyStatus;
  readonly previousVersion: number | null;
  /** False if nothing changes: archived → archived, or a version that is active already. */
  readonly changed: boolean;
}

/** Returns the statuses that a transition may have as target. */
export const allowedTargets = (status: PolicyStatus): readonly PolicyStatus[] => moves[status];

/**
 * Makes a transition: to `active` with the newest version, or from `disabled` with the remembered one. Throws
 * INVALID_TRANSITION with `from`, `to` and `allowed`.
 */
export function transition(policy: PolicyLife, target: PolicyStatus): PolicyTransition {
  const { status, activeVersion, newestVersion } = policy;
  if (!allowedTargets(status).includes(target)) refuse(status, target);
  switch (target) {
    case 'active':
      return moved(policy, target, status === 'disabled' ? (activeVersion ?? newestVersion) : newestVersion);
    case 'disabled':
      return moved(policy, target, activeVersion);
    case 'draft':
    case 'review':
    case 'archived':
      return moved(policy, target, null);
  }
}

/**
 * Makes a version active, by default the newest. Throws INVALID_TRANSITION for an archived policy, which must become
 * `draft` first, and NOT_FOUND with `version` for a version that does not exist.
 */
export function publish(policy: PolicyLife, version: number = policy.newestVersion): PolicyTransition {
  if (policy.status === 'archived') refuse(policy.status, 'active');
  if (policy.version(version) === undefined) {
    throw new GovError('NOT_FOUND', `the policy has no version ${version}`, { extensions: { version } });
  }
  return moved(policy, 'active', version);
}

/**
 * Makes a formerly active version active again, from any status, archived and draft too (contract Z5). Throws NOT_FOUND
 * with `targetVersion` for a version that does not exist, VALIDATION_ERROR for one that was never published.
 */
export function rollback(policy: PolicyLife, targetVersion: number): PolicyTransition {
  const version = policy.version(targetVersion);
  if (version === undefined) {
    const detail = `the policy has no version ${targetVersion}`;
    throw new GovError('NOT_FOUND', detail, { extensions: { targetVersion } });
  }
  if (!version.published) {
    const detail = `expected a version that was published before, got version ${targetVersion}, which was not`;
    throw new GovError('VALIDATION_ERROR', `body /targetVersion: ${detail}`, {
      errors: [{ pointer: '/targetVersion', in: 'body', code: 'NEVER_PUBLISHED', detail }],
    });
  }
  return moved(policy, 'active', targetVersion);
}

function moved(from: PolicyState, status: PolicyStatus, activeVersion: number | null): PolicyTransition {
  return {
    status,
    activeVersion,
    previousStatus: from.status,
    previousVersion: from.activeVersion,
    changed: status !== from.status || activeVersion !== from.activeVersion,
  };
}

function refuse(from: PolicyStatus, to: PolicyStatus): never {
  const allowed = allowedTargets(from);
  throw new GovError('INVALID_TRANSITION', `expected one of ${allowed.join(', ')} from ${from}, got ${to}`, {
    extensions: { from, to, allowed },
  });
}

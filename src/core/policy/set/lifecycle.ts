/**
 * The life of a policy: interface §3.1 to the letter, with contract G1-G3, Z4 and Z5. A policy has the active
 * version that is in force while its status is `active`; `disabled` remembers it; in every other status there
 * is none. Nothing here writes: the caller stores what comes back, with its audit event, in one transaction.
 * Proven by `test/core/policy/set/lifecycle.test.ts`.
 */
import type { PolicyStatus } from '../../../contract/policy-words.ts';
import { GovError } from '../../../contract/problems.ts';

/** From each status, where a transition may lead. */
const moves: Readonly<Record<PolicyStatus, readonly PolicyStatus[]>> = {
  draft: ['review', 'active', 'archived'],
  review: ['draft', 'active', 'archived'],
  active: ['disabled', 'archived'],
  disabled: ['active', 'archived'],
  // "any state -> archived" holds for archived as well (Z4): the one move that leads nowhere and is listed
  archived: ['draft', 'archived'],
};

interface PolicyState {
  readonly status: PolicyStatus;
  /** Null but in `active` and `disabled`. */
  readonly activeVersion: number | null;
}

export interface Version {
  /** Whether it ever was the active version. */
  readonly published: boolean;
}

/** A policy as its moves see it. */
export interface PolicyLife extends PolicyState {
  readonly newestVersion: number;
  /** Undefined for a version that does not exist. */
  readonly version: (version: number) => Version | undefined;
}

export interface Move extends PolicyState {
  readonly previousStatus: PolicyStatus;
  readonly previousVersion: number | null;
  /** False where everything stays as it was: archived → archived, or a version that is active already. */
  readonly changed: boolean;
}

/** The statuses that a transition may ask for. */
export const allowedTargets = (status: PolicyStatus): readonly PolicyStatus[] => moves[status];

/**
 * A transition: to `active` it activates the newest version, from `disabled` the one that was active.
 * INVALID_TRANSITION with `from`, `to` and `allowed` for a move that is not listed.
 */
export function transition(policy: PolicyLife, target: PolicyStatus): Move {
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
 * Makes a version active, the newest where none is named, from every status but `archived`, out of which a policy
 * comes by way of `draft`: INVALID_TRANSITION. NOT_FOUND with `version` for a version that does not exist.
 */
export function publish(policy: PolicyLife, version: number = policy.newestVersion): Move {
  if (policy.status === 'archived') refuse(policy.status, 'active');
  if (policy.version(version) === undefined) {
    throw new GovError('NOT_FOUND', `the policy has no version ${version}`, { extensions: { version } });
  }
  return moved(policy, 'active', version);
}

/**
 * Back to a version that was in force before, from any status, archived and draft too (Z5). NOT_FOUND with
 * `targetVersion` for a version that does not exist, VALIDATION_ERROR for one that was never published.
 */
export function rollback(policy: PolicyLife, targetVersion: number): Move {
  const version = policy.version(targetVersion);
  if (version === undefined) {
    const detail = `the policy has no version ${targetVersion}`;
    throw new GovError('NOT_FOUND', detail, { extensions: { targetVersion } });
  }
  if (!version.published) {
    const detail = `expected a version that was published once, got version ${targetVersion}, which never was`;
    throw new GovError('VALIDATION_ERROR', `body /targetVersion: ${detail}`, {
      errors: [{ pointer: '/targetVersion', in: 'body', code: 'NEVER_PUBLISHED', detail }],
    });
  }
  return moved(policy, 'active', targetVersion);
}

function moved(from: PolicyState, status: PolicyStatus, activeVersion: number | null): Move {
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

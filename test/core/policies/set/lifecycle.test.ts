import { describe, expect, it } from 'vitest';
import { policyStatuses, type PolicyStatus } from '../../../../src/contract/policy-words.ts';
import { GovError } from '../../../../src/contract/problems.ts';
import {
  allowedTargets,
  type PolicyLife,
  publish,
  rollback,
  transition,
} from '../../../../src/core/policies/set/lifecycle.ts';

/** Versions 1 to 5, of which 2 and 3 were published once. */
function policy(status: PolicyStatus, activeVersion: number | null = null): PolicyLife {
  const version = (number: number) =>
    number >= 1 && number <= 5 ? { published: number === 2 || number === 3 } : undefined;
  return { status, activeVersion, newestVersion: 5, version };
}

const living = (status: PolicyStatus): PolicyLife =>
  policy(status, status === 'active' || status === 'disabled' ? 3 : null);

function refusal(act: () => unknown): GovError {
  try {
    act();
  } catch (error) {
    if (error instanceof GovError) return error;
    throw error;
  }
  throw new Error('expected a refusal');
}

/** The listed moves of the life cycle, row by row (contract G1-G3); "any state" is written out. */
const listed: readonly (readonly [PolicyStatus, PolicyStatus, activeVersion: number | null])[] = [
  ['draft', 'review', null],
  ['draft', 'active', 5],
  ['review', 'active', 5],
  ['review', 'draft', null],
  ['active', 'disabled', 3],
  ['disabled', 'active', 3],
  ['draft', 'archived', null],
  ['review', 'archived', null],
  ['active', 'archived', null],
  ['disabled', 'archived', null],
  ['archived', 'archived', null],
  ['archived', 'draft', null],
];
const unlisted = policyStatuses.flatMap((from) =>
  policyStatuses
    .filter((to) => !listed.some(([a, b]) => a === from && b === to))
    .map((to) => [from, to] as const),
);

describe('a transition', () => {
  it.each(listed)('a transition leads from %s to %s, with active version %s', (from, to, activeVersion) => {
    const before = living(from);
    expect(transition(before, to)).toEqual({
      status: to,
      activeVersion,
      previousStatus: from,
      previousVersion: before.activeVersion,
      changed: from !== to,
    });
    expect(allowedTargets(from)).toContain(to);
  });

  it.each(unlisted)('a transition does not lead from %s to %s', (from, to) => {
    const error = refusal(() => transition(living(from), to));
    expect(error.code).toBe('INVALID_TRANSITION');
    expect(error.status).toBe(400);
    expect(error.extensions).toEqual({ from, to, allowed: allowedTargets(from) });
    expect(allowedTargets(from)).not.toContain(to);
  });

  it('the transitions cover every pair of states once', () => {
    expect(listed.length + unlisted.length).toBe(policyStatuses.length ** 2);
  });
});

describe('a publish', () => {
  it.each(['draft', 'review', 'active', 'disabled'] as const)(
    'a publish puts a version in force from %s',
    (from) => {
      expect(publish(living(from))).toMatchObject({ status: 'active', activeVersion: 5, changed: true });
      expect(publish(living(from), 1)).toMatchObject({
        status: 'active',
        activeVersion: 1,
        previousStatus: from,
      });
    },
  );

  it('a publish reports the previous version, and that a repeat changes nothing', () => {
    expect(publish(policy('active', 3), 3)).toMatchObject({ previousVersion: 3, changed: false });
    expect(publish(policy('disabled', 3), 3)).toMatchObject({ previousVersion: 3, changed: true });
    expect(publish(policy('draft'), 3).previousVersion).toBeNull();
  });

  it('a publish refuses an archived policy and a version that does not exist', () => {
    const archived = refusal(() => publish(policy('archived')));
    expect(archived.code).toBe('INVALID_TRANSITION');
    expect(archived.extensions).toEqual({ from: 'archived', to: 'active', allowed: ['draft', 'archived'] });
    const missing = refusal(() => publish(policy('draft'), 6));
    expect(missing.code).toBe('NOT_FOUND');
    expect(missing.extensions).toEqual({ version: 6 });
  });
});

describe('a rollback', () => {
  it.each(policyStatuses)('a rollback puts an earlier version in force from %s', (from) => {
    const before = living(from);
    expect(rollback(before, 2)).toEqual({
      status: 'active',
      activeVersion: 2,
      previousStatus: from,
      previousVersion: before.activeVersion,
      changed: true,
    });
  });

  it('a rollback changes nothing only when status and version are already the same', () => {
    expect(rollback(policy('active', 3), 3).changed).toBe(false);
    expect(rollback(policy('active', 3), 2).changed).toBe(true);
    expect(rollback(policy('disabled', 3), 3).changed).toBe(true);
  });

  it('a rollback refuses a version that does not exist or was never in force', () => {
    const missing = refusal(() => rollback(policy('active', 3), 9));
    expect([missing.code, missing.status]).toEqual(['NOT_FOUND', 404]);
    expect(missing.extensions).toEqual({ targetVersion: 9 });
    const unpublished = refusal(() => rollback(policy('draft'), 1));
    expect([unpublished.code, unpublished.status]).toEqual(['VALIDATION_ERROR', 400]);
    expect(unpublished.errors).toMatchObject([{ pointer: '/targetVersion', code: 'NEVER_PUBLISHED' }]);
  });
});

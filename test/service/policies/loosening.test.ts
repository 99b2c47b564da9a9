import { describe, expect, it } from 'vitest';
import type { PolicyVersion } from '../../../src/core/policies/set/member.ts';
import { loosening } from '../../../src/service/policies/loosening.ts';

const of = (policyHash: string, more: Partial<PolicyVersion> = {}): PolicyVersion => ({
  policyId: 'p',
  name: 'p',
  version: 1,
  action: 'escalate',
  severity: null,
  condition: true,
  policyHash,
  ...more,
});

describe('a change of the policies in force', () => {
  it.each([
    ['a new policy', undefined, of('b'), null],
    [
      'a new map of money',
      undefined,
      of('b', { policyId: 'mcp-map.bank' }),
      'say with policy mcp-map.bank where calls have money',
    ],
    ['no map of money', undefined, null, null],
    ['a version that stays', of('a'), undefined, null],
    ['the same version', of('a'), of('a'), null],
    ['a stricter action', of('a'), of('b', { action: 'deny' }), null],
    ['another severity', of('a'), of('b', { severity: 'low' }), null],
    ['a signature more', of('a'), of('b', { requireSignedApproval: true }), null],
    ['deny in place of signed', of('a', { requireSignedApproval: true }), of('b', { action: 'deny' }), null],
    ['the end', of('a'), null, 'end policy p'],
    ['a milder action', of('a'), of('b', { action: 'warn' }), 'change policy p from escalate to warn'],
    ['another condition', of('a'), of('b', { condition: false }), 'change the condition of policy p'],
    ['a stricter unknown', of('a'), of('b', { onIndeterminate: 'deny' }), null],
    [
      'a milder unknown',
      of('a', { action: 'deny' }),
      of('b', { action: 'deny', onIndeterminate: 'escalate' }),
      'change what policy p decides where nobody knows, from deny to escalate',
    ],
    [
      'a signature less, where nobody knows',
      of('a', { onIndeterminate: 'escalate', requireSignedApproval: true }),
      of('b', { action: 'deny', onIndeterminate: 'escalate' }),
      'let anybody approve what policy p escalates',
    ],
    [
      'a signature less',
      of('a', { requireSignedApproval: true }),
      of('b'),
      'let anybody approve what policy p escalates',
    ],
    [
      'a member that nobody knows',
      of('a'),
      { ...of('b', { action: 'deny' }), later: 'allow' },
      'change policy p in more than its action',
    ],
  ] as const)('%s', (_, before, after, what) => {
    expect(loosening(before, after)).toBe(what);
  });
});

/** Sets that differ in one policy: what is made from the one before against what is made at once, and the cost. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../../src/core/json/parse.ts';
import { changesBorne, MemberIndex } from '../../../../src/core/policies/set/member-index.ts';
import { policyHash, policySetHash, verifyInForce } from '../../../../src/core/policies/language/hash.ts';
import {
  indexedPolicies,
  PolicySet,
  type Member,
  type PolicyVersion,
} from '../../../../src/core/policies/set/in-force.ts';
import { inForceProof } from '../language/in-force-proof.ts';

function policy(policyId: string, version: number, condition: Json): PolicyVersion {
  const hashed = { policyId, version, action: version % 2 === 0 ? 'deny' : 'warn', severity: null } as const;
  return { name: policyId, condition, ...hashed, policyHash: policyHash({ ...hashed, condition }) };
}

const conditionOf = (seed: number): Json =>
  [
    { 'tool.name': `t${seed % 5}` },
    { and: [{ 'tool.name': `t${seed % 3}` }, { '>': [{ var: 'amount' }, seed % 7] }] },
    { '>': [{ var: `n${seed % 4}` }, 1] },
    { exists: ['env'] },
    { in: [{ var: 'env' }, ['prod', `e${seed % 3}`]] },
  ][seed % 5] as Json;

const contexts = [
  {},
  { tool: { name: 't1' }, amount: 3, env: 'prod', n1: 2 },
  { tool: { name: 't2' }, amount: 'much', n0: 1, n2: 5, n3: 0 },
  { tool: 'none', amount: 9, env: 'e1', n0: 0, n1: 0, n2: 0, n3: 0 },
];

function expectSame(made: PolicySet, versions: readonly PolicyVersion[]): void {
  const fresh = PolicySet.of(versions);
  expect(made.versions()).toEqual(fresh.versions());
  expect(made.policySetHash).toBe(policySetHash(versions));
  expect(made.readSet.paths).toEqual(fresh.readSet.paths);
  for (const context of contexts) expect(made.decide({ context })).toEqual(fresh.decide({ context }));
}

const changes = (policies: number) =>
  fc.array(fc.record({ at: fc.nat(policies), version: fc.nat(3), asked: fc.boolean() }), {
    minLength: 1,
    maxLength: 40,
  });

describe('a set made by changes', () => {
  it.each([
    ['few', 12],
    ['indexed', indexedPolicies + 20],
  ])('a set made by changes equals a set made at once: %s', (_name, count) => {
    const name = (at: number): string => `p${(at * 7919) % 10_007}`;
    fc.assert(
      fc.property(changes(count + 5), (all) => {
        const versions = new Map(
          Array.from({ length: count }, (_, at) => [name(at), policy(name(at), 1, conditionOf(at))]),
        );
        let set = PolicySet.of(versions.values());
        for (const { at, version, asked } of all) {
          // whether what is lent was computed or not
          if (asked) expectSame(set, [...versions.values()]);
          if (version === 0) {
            versions.delete(name(at));
            set = set.without(name(at));
          } else {
            const next = policy(name(at), version, conditionOf(at + version));
            versions.set(name(at), next);
            set = set.with(next);
          }
          expect(set.get(name(at))?.policy).toEqual(versions.get(name(at)));
        }
        expectSame(set, [...versions.values()]);
        for (const policyId of [name(0), name(3)]) {
          const proof = set.inForceProof(policyId);
          expect(proof).toEqual(inForceProof([...versions.values()], policyId));
          const member = set.get(policyId);
          if (proof === undefined || member === undefined) continue;
          const { policySetHash } = set;
          expect(verifyInForce({ ...proof, policyHash: member.policy.policyHash, policySetHash })).toBe(true);
        }
      }),
      { seed: 11, numRuns: count > indexedPolicies ? 15 : 200 },
    );
  });

  it('a set without a change is the same object', () => {
    const set = PolicySet.of([policy('a', 1, {}), policy('b', 1, {})]);
    expect(set.with(policy('a', 1, {}))).toBe(set);
    expect(set.without('c')).toBe(set);
  });
});

describe('the index of a set', () => {
  const members = (count: number): Member[] => {
    const set = PolicySet.of(Array.from({ length: count }, (_, at) => policy(`p${at}`, 1, conditionOf(at))));
    return set.versions().map(({ policyId }) => set.get(policyId)!);
  };

  it('the index of a set is reused for similar sets and made again after many changes', () => {
    const [first, ...others] = members(changesBorne + 3);
    let index: MemberIndex | undefined = MemberIndex.of([first!]);
    for (const [at, member] of others.entries()) {
      index = index?.changed(undefined, member);
      expect(index === undefined).toBe(at >= changesBorne);
    }
    const same = MemberIndex.of([first!]);
    let now: MemberIndex | undefined = same;
    // in and out again is no change
    for (const member of others) now = now?.changed(undefined, member)?.changed(member, undefined);
    expect(now?.candidates({ context: {} })).toEqual(same.candidates({ context: {} }));
  });
});

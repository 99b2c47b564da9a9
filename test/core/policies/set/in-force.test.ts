import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { policyActions, policySeverities } from '../../../../src/contract/policy-words.ts';
import type { Json } from '../../../../src/core/json/parse.ts';
import { canonicalCondition } from '../../../../src/core/policies/language/canonical.ts';
import type { PolicyInput } from '../../../../src/core/policies/evaluate/compile.ts';
import { combine } from '../../../../src/core/policies/evaluate/decision.ts';
import { parseCondition } from '../../../../src/core/policies/language/parse.ts';
import { policyHash, verifyInForce } from '../../../../src/core/policies/language/hash.ts';
import {
  indexedPolicies,
  PolicySet,
  type PolicyVersion,
} from '../../../../src/core/policies/set/in-force.ts';
import { anyCheckpoint, anyCondition } from '../world.ts';

function policy(policyId: string, condition: Json, more: Partial<PolicyVersion> = {}): PolicyVersion {
  const version = { policyId, version: 1, action: 'deny', severity: null, condition, ...more } as const;
  return { name: `Policy ${policyId}`, ...version, policyHash: policyHash(version) };
}

const shell: PolicyInput = { step: 1, context: { tool: { name: 'shell' }, env: 'prod' } };
const few = PolicySet.of([
  policy('b-warn', { env: 'prod' }, { action: 'warn', severity: 'critical' }),
  policy('a-deny', { 'tool.name': 'shell' }, { severity: 'low', version: 4 }),
  policy('c-quiet', { env: 'test' }, { severity: 'high' }),
  policy('d-open', { user: 'root' }, { action: 'escalate', severity: 'medium' }),
  policy('e-allow', { env: 'prod' }, { action: 'allow', severity: 'critical' }),
]);
const ids = (set: PolicySet, checkpoint: PolicyInput): string[] =>
  set.decide(checkpoint).decisions.map(({ policyId }) => policyId);

describe('a set of policies', () => {
  it('a set lists what each policy decides, by id, and the combined decision', () => {
    const { decisions, summary } = few.decide(shell);
    expect(decisions).toEqual([
      { policyId: 'a-deny', version: 4, decision: 'deny', outcome: 'matched', severity: 'low' },
      { policyId: 'b-warn', version: 1, decision: 'warn', outcome: 'matched', severity: 'critical' },
      { policyId: 'c-quiet', version: 1, decision: 'allow', outcome: 'not_matched', severity: 'high' },
      { policyId: 'd-open', version: 1, decision: 'escalate', outcome: 'indeterminate', severity: 'medium' },
      { policyId: 'e-allow', version: 1, decision: 'allow', outcome: 'matched', severity: 'critical' },
    ]);
    expect(summary).toEqual({
      total: 5,
      matched: 3,
      indeterminate: 1,
      byDecision: { allow: 2, warn: 1, escalate: 1, deny: 1 },
      combined: 'deny',
      decidedBy: ['a-deny'],
      maxSeverity: 'critical',
      policySetHash: few.policySetHash,
      engine: 'gov.cond/1',
    });
  });

  it('a set answers requested ids in order, each once, and unknown ids as inactive', () => {
    const asked = ['e-allow', 'gone', 'a-deny', 'e-allow'];
    const { decisions, summary } = few.decide(shell, { ids: asked });
    expect(decisions.map(({ policyId, outcome }) => [policyId, outcome])).toEqual([
      ['e-allow', 'matched'],
      ['gone', 'inactive'],
      ['a-deny', 'matched'],
    ]);
    expect(decisions[1]).toMatchObject({ version: null, decision: 'allow', severity: null });
    expect(summary).toMatchObject({ total: 3, matched: 2, byDecision: { allow: 2, deny: 1 } });
  });

  it('a set uses the default decision only when no policy matched', () => {
    const options = { defaultDecision: 'deny' } as const;
    expect(few.decide(shell, { ids: ['c-quiet', 'gone'], ...options }).summary).toMatchObject({
      combined: 'deny',
      decidedBy: [],
      maxSeverity: null,
    });
    expect(few.decide(shell, { ids: ['e-allow'], ...options }).summary).toMatchObject({
      combined: 'allow',
      decidedBy: ['e-allow'],
      maxSeverity: null,
    });
    expect(PolicySet.empty.decide(shell, options).summary).toMatchObject({ total: 0, combined: 'deny' });
  });

  it('a set proves which policies are in force', () => {
    const proof = few.inForceProof('d-open')!;
    const { policyHash } = few.get('d-open')!.policy;
    expect(proof).toMatchObject({ index: 3, size: 5 });
    expect(verifyInForce({ ...proof, policyHash, policySetHash: few.policySetHash })).toBe(true);
    expect(few.inForceProof('gone')).toBeUndefined();
  });

  it('the read-set of a set contains the reads of its policies', () => {
    expect(few.readSet.paths).toEqual(['context.env', 'context.tool.name', 'context.user']);
  });

  it('a set refuses two versions of one policy and an invalid condition, with the policy id', () => {
    expect(() => PolicySet.of([policy('a', {}), policy('a', {}, { version: 2 })])).toThrow('got a twice');
    const broken = { ...policy('a', {}), condition: { nonsense: [1, 2] } };
    expect(() => PolicySet.of([broken])).toThrow('policy a version 1 does not compile');
  });
});

describe('a changed set', () => {
  it('a changed set has the new policies without the removed ones, and the old set is unchanged', () => {
    const before = few.policySetHash;
    const more = few.with(policy('bb', {}));
    expect(ids(more, shell)).toEqual(['a-deny', 'b-warn', 'bb', 'c-quiet', 'd-open', 'e-allow']);
    expect(ids(more.without('a-deny').without('gone'), shell)).toEqual([
      'b-warn',
      'bb',
      'c-quiet',
      'd-open',
      'e-allow',
    ]);
    expect(few.size).toBe(5);
    expect(few.policySetHash).toBe(before);
    expect(more.policySetHash).not.toBe(before);
    expect(more.without('bb').policySetHash).toBe(before);
  });

  it('a changed set compiles only the new versions', () => {
    const next = few.with(policy('b-warn', { env: 'test' }, { version: 2 }));
    for (const id of ['a-deny', 'c-quiet', 'd-open', 'e-allow']) expect(next.get(id)).toBe(few.get(id));
    expect(next.get('b-warn')).not.toBe(few.get('b-warn'));
    const again = PolicySet.of(structuredClone(next.versions()), next);
    for (const { policyId } of next.versions()) expect(again.get(policyId)).toBe(next.get(policyId));
  });

  it('a changed set takes a new name without compiling, but never other content of one version', () => {
    const renamed = few.with({ ...few.get('a-deny')!.policy, name: 'Renamed' });
    expect(renamed.get('a-deny')?.policy.name).toBe('Renamed');
    expect(renamed.get('a-deny')?.condition).toBe(few.get('a-deny')?.condition);
    const forged = few.with(policy('a-deny', { 'tool.name': 'mail' }, { version: 4 }));
    expect(forged.decide(shell, { ids: ['a-deny'] }).decisions[0]?.outcome).toBe('not_matched');
  });
});

describe('a large set', () => {
  const parsed = anyCondition.map((node): Json | undefined => {
    try {
      const condition = canonicalCondition(node);
      parseCondition(condition);
      return condition;
    } catch {
      return undefined; // refused when it is written, such as a comparison with null
    }
  });
  const conditions = parsed.filter((condition) => condition !== undefined);
  const versions = fc
    .array(
      fc.tuple(conditions, fc.constantFrom(...policyActions), fc.constantFrom(null, ...policySeverities)),
      {
        minLength: indexedPolicies + 1,
        maxLength: indexedPolicies + 50,
        size: 'max',
      },
    )
    .map((all) =>
      all.map(([condition, action, severity], at) =>
        policy(`p${(at * 7919) % 10_007}`, condition, { action, severity }),
      ),
    );

  it('a large set decides through its index like its policies one by one', () => {
    fc.assert(
      fc.property(
        versions,
        fc.array(anyCheckpoint, { minLength: 5, maxLength: 10 }),
        (versions, checkpoints) => {
          const set = PolicySet.of(versions);
          const all = set.versions().map(({ policyId }) => policyId);
          expect(all).toEqual(versions.map(({ policyId }) => policyId).sort());
          for (const checkpoint of checkpoints) {
            const indexed = set.decide(checkpoint);
            const oneByOne = set.decide(checkpoint, { ids: all });
            expect(indexed.decisions).toEqual(
              oneByOne.decisions.filter(({ outcome }) => outcome !== 'not_matched'),
            );
            expect(indexed.summary).toEqual(oneByOne.summary);
            expect(indexed.summary.combined).toBe(combine(oneByOne.decisions));
          }
        },
      ),
      { seed: 1, numRuns: 12 },
    );
  });

  it('a set lists all policies up to the limit, beyond it those that matched, and counts all', () => {
    const quiet = (count: number) =>
      PolicySet.of([
        policy('loud', { env: 'prod' }),
        ...Array.from({ length: count - 1 }, (_, at) => policy(`q${at}`, { env: 'test' })),
      ]);
    expect(ids(quiet(limits.policiesListed), shell)).toHaveLength(limits.policiesListed);
    for (const count of [limits.policiesListed + 1, indexedPolicies, indexedPolicies + 1]) {
      const { decisions, summary } = quiet(count).decide(shell);
      expect(decisions.map(({ policyId }) => policyId)).toEqual(['loud']);
      expect(summary).toMatchObject({ total: count, matched: 1, byDecision: { deny: 1, allow: count - 1 } });
    }
  });
});

import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type HashedPolicy,
  policyHash,
  type PolicyInSet,
  policySetHash,
  verifyInForce,
} from '../../../../src/core/policies/language/hash.ts';
import { naiveLeaf, naivePath, naiveRoot } from '../../merkle/naive.ts';
import { inForceProof } from './in-force-proof.ts';

const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const raw = (hash: string): Buffer => Buffer.from(hash.slice(7), 'hex');

const policy: HashedPolicy = {
  policyId: 'no-shell',
  version: 3,
  condition: { 'tool.name': 'shell' },
  action: 'deny',
  severity: 'high',
};

describe('a policy hash', () => {
  it('a policy hash is the hash of a text that anyone can write', () => {
    const preimage =
      'gov.policyhash/v1\n{"action":"deny","condition":{"==":[{"val":["context","tool","name"]},"shell"]},' +
      '"engine":"gov.cond/1","id":"no-shell","severity":"high","version":3}';
    expect(policyHash(policy)).toBe(sha256(preimage));
    // the same with printf '%s' … | sha256sum
    expect(policyHash(policy)).toBe(
      'sha256:abb30f82c2b566d72210c69b36158f58ea5e5b43aecb385438f6f4c6d73e30e5',
    );
  });

  it('a policy hash has null for no severity and true for the condition that always holds', () => {
    const preimage =
      'gov.policyhash/v1\n{"action":"warn","condition":true,"engine":"gov.cond/1","id":"p","severity":null,"version":1}';
    expect(policyHash({ policyId: 'p', version: 1, condition: {}, action: 'warn', severity: null })).toBe(
      sha256(preimage),
    );
  });

  it('a policy hash has what an undecided condition means, if the version says it', () => {
    const preimage =
      'gov.policyhash/v1\n{"action":"deny","condition":{"==":[{"val":["context","tool","name"]},"shell"]},' +
      '"engine":"gov.cond/1","id":"no-shell","onIndeterminate":"escalate","severity":"high","version":3}';
    expect(policyHash({ ...policy, onIndeterminate: 'escalate' })).toBe(sha256(preimage));
    expect(policyHash({ ...policy, onIndeterminate: null })).toBe(policyHash(policy));
  });

  it('a policy hash is the same for every spelling of a condition, and for no other change', () => {
    const hash = policyHash(policy);
    const spellings = [
      { '==': [{ var: 'tool.name' }, 'shell'] },
      { '==': [{ val: ['context', 'tool', 'name'] }, 'shell'] },
      { field: 'tool.name', operator: '==', value: 'shell' },
    ];
    for (const condition of spellings) expect(policyHash({ ...policy, condition })).toBe(hash);
    const others: Partial<HashedPolicy>[] = [
      { policyId: 'no-shelL' },
      { version: 4 },
      { condition: { 'tool.name': 'bash' } },
      { action: 'warn' },
      { severity: null },
    ];
    const hashes = others.map((other) => policyHash({ ...policy, ...other }));
    expect(new Set([hash, ...hashes]).size).toBe(others.length + 1);
  });

  it('a policy hash refuses a condition that does not parse', () => {
    expect(() => policyHash({ ...policy, condition: { '==': [1] } })).toThrow();
  });
});

/** Ids in an order that is neither that of numbers nor of insertion. */
const setOf = (size: number): PolicyInSet[] =>
  Array.from({ length: size }, (_, at) => {
    const policyId = `p${(at * 7919) % 10_007}`;
    return { policyId, policyHash: sha256(policyId) };
  });
const byId = (policies: readonly PolicyInSet[]): PolicyInSet[] =>
  policies.toSorted((a, b) => Buffer.compare(Buffer.from(a.policyId), Buffer.from(b.policyId)));
const leaves = (policies: readonly PolicyInSet[]): Buffer[] =>
  byId(policies).map(({ policyHash }) => naiveLeaf(raw(policyHash)));

describe('the hash of a set', () => {
  it('the hash of the empty policy set is SHA-256 of nothing', () => {
    expect(policySetHash([])).toBe('sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });

  it('the hash of a set with one policy is the hash of 0x00 and the raw policy hash', () => {
    const preimage = Buffer.concat([Buffer.from([0]), raw(sha256('a'))]);
    const root = `sha256:${createHash('sha256').update(preimage).digest('hex')}`;
    expect(policySetHash([{ policyId: 'a', policyHash: sha256('a') }])).toBe(root);
  });

  it('the hash of a set is the RFC 6962 root for every size, in any order of policies', () => {
    for (let size = 0; size < 40; size++) {
      const policies = setOf(size);
      const root = `sha256:${naiveRoot(leaves(policies)).toString('hex')}`;
      expect(policySetHash(policies)).toBe(root);
      expect(policySetHash(policies.toReversed())).toBe(root);
    }
  });

  it('the hash of a set sorts policies by the bytes of their ids', () => {
    const ids = ['Z', 'a', 'a-', 'a.', 'a0', 'aZ', '\u{1f600}', '\uffe6'];
    const policies = ids.map((policyId) => ({ policyId, policyHash: sha256(policyId) }));
    expect(policySetHash(policies)).toBe(`sha256:${naiveRoot(leaves(policies)).toString('hex')}`);
  });

  it('the hash of a set refuses a repeated policy and an invalid hash', () => {
    const [a] = setOf(1);
    expect(() => policySetHash([a!, a!])).toThrow('expected each policy once, got p0 twice');
    expect(() => policySetHash([{ policyId: 'a', policyHash: 'sha256:00' }])).toThrow(
      'expected the policyHash of a',
    );
  });
});

describe('the in-force proof of a policy', () => {
  const shown = fc
    .integer({ min: 1, max: 60 })
    .chain((size) => fc.tuple(fc.constant(setOf(size)), fc.nat(size - 1)));

  it('an in-force proof is the RFC 6962 path and verifies', () => {
    fc.assert(
      fc.property(shown, ([policies, index]) => {
        const { policyId, policyHash } = byId(policies)[index]!;
        const proof = inForceProof(policies, policyId)!;
        const hashes = naivePath(index, leaves(policies)).map((hash) => `sha256:${hash.toString('hex')}`);
        expect(proof).toEqual({ index, size: policies.length, hashes });
        expect(verifyInForce({ ...proof, policyHash, policySetHash: policySetHash(policies) })).toBe(true);
      }),
    );
  });

  it('an in-force proof fails for another policy, set, place or path', () => {
    const flip = (hash: string): string => hash.slice(0, -1) + (hash.endsWith('0') ? '1' : '0');
    fc.assert(
      fc.property(shown, ([policies, index]) => {
        const { policyId, policyHash } = byId(policies)[index]!;
        const proof = inForceProof(policies, policyId)!;
        const claim = { ...proof, policyHash, policySetHash: policySetHash(policies) };
        expect(verifyInForce({ ...claim, policyHash: flip(policyHash) })).toBe(false);
        expect(verifyInForce({ ...claim, policySetHash: flip(claim.policySetHash) })).toBe(false);
        expect(verifyInForce({ ...claim, index: index + 1 })).toBe(false);
        expect(verifyInForce({ ...claim, hashes: [...proof.hashes, policyHash] })).toBe(false);
        for (const at of proof.hashes.keys()) {
          expect(verifyInForce({ ...claim, hashes: proof.hashes.with(at, flip(proof.hashes[at]!)) })).toBe(
            false,
          );
          expect(verifyInForce({ ...claim, hashes: proof.hashes.toSpliced(at, 1) })).toBe(false);
        }
      }),
    );
  });

  it('a policy outside the set has no in-force proof', () => {
    expect(inForceProof(setOf(3), 'other')).toBeUndefined();
  });

  it('the verification of a hostile in-force proof returns false and does not throw', () => {
    const [policy] = setOf(1);
    const claim = {
      index: 0,
      size: 1,
      hashes: [],
      policyHash: policy!.policyHash,
      policySetHash: policySetHash([policy!]),
    };
    expect(verifyInForce(claim)).toBe(true);
    const hostile: object[] = [
      { hashes: 'sha256' },
      { hashes: [null] },
      { hashes: {} },
      { index: -1 },
      { index: 0.5 },
      { size: 2 ** 60 },
      { size: '1' },
      { policyHash: null },
      { policyHash: policy!.policyHash.toUpperCase() },
      { policySetHash: undefined },
    ];
    for (const part of hostile) expect(verifyInForce({ ...claim, ...part })).toBe(false);
  });
});

/**
 * Hashes that identify a policy, and a set of policies in force (`docs/reference/policy-language.md`).
 *
 *   policyHash    = SHA-256("gov.policyhash/v1" "\n" JCS({id, version, condition, action, severity, engine}))
 *                   with requireSignedApproval: true and onIndeterminate in the object where the version sets them
 *   policySetHash = the RFC 6962 root whose leaves are the raw 32-byte policyHashes, sorted by the bytes of the
 *                   policy id; the empty set has the empty tree's root
 *
 * The condition is hashed in canonical form and the name is omitted, so spelling and renaming change no hash. An inclusion
 * proof (RFC 9162 §2.1.3) shows that a version was in force without disclosing the other policies.
 * Proven by `test/core/policies/language/hash.test.ts` (preimages written out by hand, a naive tree).
 */
import type { PolicyAction, PolicySeverity } from '../../../contract/policy-words.ts';
import { hashText, labelled, parseHash } from '../../hash.ts';
import type { Json } from '../../json/parse.ts';
import { leafHash, merkleRoot, nodeHash, verifyInclusion } from '../../merkle/tree.ts';
import { engine } from './ast.ts';
import { canonicalCondition } from './canonical.ts';
import { parseCondition } from './parse.ts';

export interface HashedPolicy {
  readonly policyId: string;
  readonly version: number;
  /** In any accepted spelling. */
  readonly condition: Json;
  readonly action: PolicyAction;
  readonly severity: PolicySeverity | null;
  /** Default: false, which is not hashed, so earlier versions keep their hashes. */
  readonly requireSignedApproval?: boolean;
  /** Default: null, which is not hashed. */
  readonly onIndeterminate?: PolicyAction | null;
}

/** One policy of a set, by its `policyHash` (`sha256:…`). */
export interface PolicyInSet {
  readonly policyId: string;
  readonly policyHash: string;
}

/** Returns `sha256:…`. Throws like `parseCondition` for a condition that does not parse. Cost: about 20 µs. */
export function policyHash(policy: HashedPolicy): string {
  const {
    policyId,
    version,
    condition,
    action,
    severity,
    requireSignedApproval = false,
    onIndeterminate = null,
  } = policy;
  return labelled('gov.policyhash/v1', {
    id: policyId,
    version,
    condition: canonicalCondition(parseCondition(condition)),
    action,
    severity,
    engine,
    ...(requireSignedApproval ? { requireSignedApproval } : {}),
    ...(onIndeterminate === null ? {} : { onIndeterminate }),
  }).hash;
}

/** Returns `sha256:…` over the policies in any order, each id once. Cost: two hashes a policy, 10 ms for 10,000. */
export function policySetHash(policies: readonly PolicyInSet[]): string {
  return hashText(merkleRoot(inOrder(policies).map(leafOf)));
}

/** Proof that a policy is at `index` of `size` policies; `hashes` from the leaf's sibling to the root's child. */
export interface InForceProof {
  readonly index: number;
  readonly size: number;
  readonly hashes: readonly string[];
}

export interface InForceClaim extends InForceProof {
  /** The verifier computes it from the policy. */
  readonly policyHash: string;
  readonly policySetHash: string;
}

/** Returns whether the policy is part of the set. Attacker controlled; never throws. */
export function verifyInForce(claim: InForceClaim): boolean {
  const { index, size, hashes } = claim;
  const policy = hashOf(claim.policyHash);
  const root = hashOf(claim.policySetHash);
  if (policy === null || root === null || !Array.isArray(hashes)) return false;
  const path: Buffer[] = [];
  for (const text of hashes) {
    const hash = hashOf(text);
    if (hash === null) return false;
    path.push(hash);
  }
  return verifyInclusion({ index, size, leaf: leafHash(policy), path, root });
}

const hashOf = (text: unknown): Buffer | null => (typeof text === 'string' ? parseHash(text) : null);

function inOrder<P extends PolicyInSet>(policies: readonly P[]): P[] {
  const keyed = policies.map((policy) => ({ policy, bytes: Buffer.from(policy.policyId) }));
  keyed.sort((a, b) => Buffer.compare(a.bytes, b.bytes));
  for (const [at, { bytes }] of keyed.entries()) {
    const next = keyed[at + 1];
    if (next?.bytes.equals(bytes))
      throw new Error(`expected each policy once, got ${next.policy.policyId} twice`);
  }
  return keyed.map(({ policy }) => policy);
}

/** Returns the leaf hash of a policy in a set. Throws an Error for a malformed hash. */
export function leafOf({ policyId, policyHash }: PolicyInSet): Buffer {
  const raw = parseHash(policyHash);
  if (raw === null) throw new Error(`expected the policyHash of ${policyId}, got ${policyHash}`);
  return leafHash(raw);
}

/**
 * Returns the inclusion path of a leaf, from its sibling to the root's child (RFC 6962 §2.1.1), level by level; a last node
 * without sibling is its own parent.
 */
export function pathTo(index: number, leaves: readonly Buffer[]): Buffer[] {
  const path: Buffer[] = [];
  let level = leaves;
  for (let at = index; level.length > 1; at = Math.floor(at / 2)) {
    const sibling = level[at % 2 === 0 ? at + 1 : at - 1];
    if (sibling !== undefined) path.push(sibling);
    level = parents(level);
  }
  return path;
}

function parents(level: readonly Buffer[]): Buffer[] {
  const above: Buffer[] = [];
  for (let at = 0; at < level.length; at += 2) {
    const [left, right] = level.slice(at, at + 2);
    if (left !== undefined) above.push(right === undefined ? left : nodeHash(left, right));
  }
  return above;
}

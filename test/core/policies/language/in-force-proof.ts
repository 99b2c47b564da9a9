/** The proof for one policy of a set, as RFC 6962 §2.1.1 has it; undefined where the set lacks the policy. */
import { hashText } from '../../../../src/core/hash.ts';
import {
  type InForceProof,
  leafOf,
  pathTo,
  type PolicyInSet,
} from '../../../../src/core/policies/language/hash.ts';

export function inForceProof(policies: readonly PolicyInSet[], policyId: string): InForceProof | undefined {
  const sorted = policies.toSorted((a, b) =>
    Buffer.compare(Buffer.from(a.policyId), Buffer.from(b.policyId)),
  );
  const index = sorted.findIndex((policy) => policy.policyId === policyId);
  if (index < 0) return undefined;
  return { index, size: sorted.length, hashes: pathTo(index, sorted.map(leafOf)).map(hashText) };
}

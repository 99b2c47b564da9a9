/**
 * draft-ietf-plants-merkle-tree-certs, appendices C.1.1 and C.1.2: SHA-256 over all subtree hashes, and over all subtree
 * inclusion proofs, of every tree up to a size. Leaf number i is the single byte i.
 */
export const accumulators = {
  maxSize: 130,
  subtreeHash: 'b82806ad4265bb151c1119c0f4db437bb4d1a1f887b3a7fba1cd4ebf552e3e81',
  subtreeInclusionProof: 'ac2a8f989e44d99e399db448050ff5f19757df53cfb716aa81015d3955d8163f',
};

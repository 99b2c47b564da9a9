/**
 * Known hashes of RFC 6962 §2.1 trees over SHA-256. The RFC prints none; these are the ones that the test data of its
 * reference implementation has (google/certificate-transparency, transparency-dev/merkle). Hexadecimal, 32 bytes each.
 */
export const knownHashes = {
  emptyRoot: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  /** Of the leaf without a byte. */
  emptyLeaf: '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  /** Of the leaf `L123456`. */
  leafL123456: '395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56',
  /** Of the tree over the empty leaf and the leaf of one zero byte. */
  nodeOfFirstTwo: 'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
};

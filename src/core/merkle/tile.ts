/**
 * C2SP tlog-tiles over one RFC 6962 tree: proofs from tiles, and the growing edge.
 * Proven by `test/core/merkle/tile.test.ts`.
 */
export { type TileId, tileWidth } from './tile-path.ts';
export {
  consistencyPlan,
  consistencyProof,
  inclusionPlan,
  inclusionProof,
  rootFromTiles,
  rootPlan,
} from './tile-proof.ts';
export { TileCache } from './tile-source.ts';
export { TileEdge } from './tile-edge.ts';

/**
 * C2SP tlog-tiles over one RFC 6962 tree: paths and entry bundles, proofs from tiles, and the growing edge.
 * Proven by `test/core/merkle/tile.test.ts`.
 */
export {
  entriesPath,
  entryBundle,
  parseEntryBundle,
  parseTilePath,
  type TileId,
  tilePath,
  type TileResource,
  tileWidth,
} from './tile-path.ts';
export {
  consistencyPlan,
  consistencyProof,
  frontierFromTiles,
  inclusionPlan,
  inclusionProof,
  type ProofOptions,
  rootFromTiles,
  rootPlan,
} from './tile-proof.ts';
export { TileCache, type TileRead } from './tile-source.ts';
export { type ChangedTile, TileEdge } from './tile-edge.ts';

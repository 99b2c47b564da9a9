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
  tileWidth,
} from './tile-path.ts';
export {
  consistencyPlan,
  consistencyProof,
  frontierFromTiles,
  inclusionPlan,
  inclusionProof,
  rootFromTiles,
  rootPlan,
} from './tile-proof.ts';
export { TileCache, type TileRead } from './tile-source.ts';
export { TileEdge } from './tile-edge.ts';

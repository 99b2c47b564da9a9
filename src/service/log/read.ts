/**
 * The log as C2SP texts (contract O10; tlog-checkpoint, tlog-tiles): newest checkpoint, keys, tiles, entry
 * bundles. Proven by `test/service/log/read.engines.test.ts`.
 */
import { entryBundle, parseTilePath, tileWidth } from '../../core/merkle/tile-path.ts';
import { notFound, type Handlers } from '../call/handler.ts';

const hashBytes = 32;

export const log: Pick<Handlers, 'getCheckpoint' | 'getLogKey' | 'getTile'> = {
  async getCheckpoint({ caller }, { store, checkpoints }) {
    const { projectId } = caller.project;
    const note =
      (await store.newestCheckpoint(projectId, 'audit')) ?? (await checkpoints.sign(projectId)).note;
    return { status: 200, body: note };
  },

  async getLogKey({ caller }, { verifierKeys }) {
    const keys = verifierKeys(caller.project.auditOrigin);
    return { status: 200, body: keys.map((key) => `${key}\n`).join('') };
  },

  /** Answers only what a signed head covers: a tile wider than the tree, or beyond it, is not found. */
  async getTile({ params, caller }, { store }) {
    const { projectId } = caller.project;
    const tile = parseTilePath(`tile/${params['*']}`);
    if (tile === null) throw notFound('tile');
    const { size } = await store.head(projectId, 'audit');
    const level = tile.kind === 'entries' ? 0 : tile.level;
    const hashes = Math.floor(size / tileWidth ** level) - tile.index * tileWidth;
    if (tile.width > hashes) throw notFound('tile');
    const headers = {
      'cache-control': tile.width === tileWidth ? 'private, max-age=31536000, immutable' : 'no-store',
    };
    if (tile.kind === 'entries') {
      const from = tile.index * tileWidth;
      const leaves = await store.leaves(projectId, 'audit', { from, to: from + tile.width });
      return { status: 200, body: entryBundle(leaves.map(({ record }) => record)), headers };
    }
    const [bytes] = await store.tiles(projectId, 'audit', [tile]);
    if (bytes === undefined) throw notFound('tile');
    return { status: 200, body: bytes.subarray(0, tile.width * hashBytes), headers };
  },
};

/**
 * Handlers that serve the log as C2SP texts (contract O10; tlog-checkpoint, tlog-tiles): newest checkpoint,
 * keys, tiles, entry bundles. Proven by `test/service/operations/log.engines.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { hashText } from '../../core/hash.ts';
import { entryBundle, parseTilePath, tileWidth } from '../../core/merkle/tile-path.ts';
import { notFound } from '../call/answer.ts';
import type { Handlers } from '../port/handler.ts';
import { keyChanges } from '../log/keys.ts';
import { receiptAt } from '../log/receipts.ts';
import { consistencyAt } from '../log/tree-proofs.ts';

const hashBytes = 32;

export const log: Pick<
  Handlers,
  'getCheckpoint' | 'getLogConsistency' | 'getLogKey' | 'getLogKeyChanges' | 'getLogReceipt' | 'getTile'
> = {
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

  async getLogKeyChanges({ caller }, { store }) {
    const leaves = await keyChanges(store, caller.project.projectId);
    return { status: 200, body: { changes: leaves.map(({ index, record }) => ({ index, record })) } };
  },

  async getLogReceipt({ params, caller: { project } }, services) {
    if (services.receipts === 'off')
      throw new GovError('NOT_FOUND', 'this log gives no receipts: `receipts` is off');
    const index = Number(params.index);
    const { size } = await services.store.head(project.projectId, 'audit');
    if (index >= size) throw notFound('leaf');
    return {
      status: 200,
      body: await receiptAt(services, project, { first: index, last: index }),
      headers: { 'cache-control': 'no-store' },
    };
  },

  async getLogConsistency({ query, caller }, { store }) {
    const { projectId } = caller.project;
    const to = Number(query.to);
    const sizes = query.from.split(',').map(Number);
    const largest = Math.max(...sizes);
    if (largest > to) {
      const detail = `expected at most ${to} leaves, got ${largest}`;
      throw new GovError('VALIDATION_ERROR', `query /from: ${detail}`, {
        errors: [{ pointer: '/from', in: 'query', code: 'NOT_ALLOWED', detail }],
      });
    }
    const { size } = await store.head(projectId, 'audit');
    if (to > size) throw notFound('log of this size');
    const proofs = [];
    for (const first of sizes) {
      const path = await consistencyAt(store, projectId, { first, second: to });
      proofs.push({ fromSize: first, toSize: to, path: path.map(hashText) });
    }
    return { status: 200, body: { proofs } };
  },

  /** Serves only tiles that a signed head covers: NOT_FOUND for a tile wider than the tree, or beyond it. */
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

/**
 * The check of a start: the newest leaves of each tree match their hashes, and these lead to the head (RFC
 * 6962 §2.1).
 * `fsck` checks the rest. Proven by `test/store/fsck/tamper.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { leafHash, merkleRoot } from '../../core/merkle/tree.ts';
import { rootFromTiles, tileWidth } from '../../core/merkle/tile.ts';
import type { Connection, Value } from './connection.ts';
import { logHeads, type LogHead } from './heads.ts';
import { endOf, positionOf } from './position.ts';
import { floorReader } from './pruned.ts';
import { leafHashReader, tileReader } from './tiles.ts';
import type { TreeName } from '../port/store.ts';
import { recordTable } from '../append/trees.ts';

/**
 * Number of projects that a service checks before it serves: the last written ones, which a crash may have
 * damaged. In the other projects each leaf is checked when it is read, the tiles when the log is extended,
 * and signed heads when they are signed again. A plane checks all.
 */
export const startedProjects = 1000;

const tailLeaves = 10_000;

/**
 * Verifies the newest 10,000 leaves of trees. Throws STORAGE_FAULT with the position. Cost: at most 50 ms a
 * tree.
 */
export function verifyTails(db: Connection, logs: Iterable<LogHead> = logHeads(db)): void {
  const verifyRecords = recordVerifier(db);
  const verifyTiles = tileVerifier(db);
  for (const log of logs) {
    verifyRecords(log);
    verifyTiles(log);
  }
}

type Verify = (log: LogHead) => void;

interface RecordRow {
  readonly idx: number;
  readonly record: string;
}

function recordVerifier(db: Connection): Verify {
  const select = (tree: TreeName) =>
    db.prepare<Value[], RecordRow>(
      `SELECT idx, record FROM ${recordTable(tree)} WHERE position >= ? AND position < ? ORDER BY position`,
    );
  const rows = { audit: select('audit'), metering: select('metering') };
  const hashes = leafHashReader(db);
  const floorOf = floorReader(db);
  return ({ project, tree, origin, size }) => {
    const floor = tree === 'audit' ? floorOf(project) : 0;
    let expected = Math.max(0, size - tailLeaves);
    let batch: RecordRow[] = [];
    const verifyBatch = (): void => {
      const indexes = batch.map(({ idx }) => idx);
      const stored = hashes(project, tree, indexes);
      batch.forEach(({ idx, record }, at) => {
        if (stored[at]?.equals(leafHash(record)) === true) return;
        throw broken(origin, idx, 'a record that matches its hash', 'another one');
      });
      batch = [];
    };
    for (const row of rows[tree].iterate(positionOf(project, expected), endOf(project))) {
      // events below the floor are pruned
      expected = Math.max(expected, Math.min(floor, row.idx));
      if (row.idx !== expected) throw broken(origin, expected, 'a record', 'none');
      if (row.idx >= size) throw broken(origin, row.idx, `no leaf at or beyond the head, ${size}`, 'one');
      expected += 1;
      if (batch.push(row) === tileWidth) verifyBatch();
    }
    verifyBatch();
    if (expected !== size) throw broken(origin, expected, 'a record', 'none');
  };
}

/** Checks the full tiles of the tail against their parents, and the head against all tiles. */
function tileVerifier(db: Connection): Verify {
  const read = tileReader(db);
  return ({ project, tree, origin, size, root }) => {
    const own = rootFromTiles(size, (level, index) => read(project, tree, { level, index }));
    if (!own.equals(root)) throw broken(origin, size, 'tiles that lead to the head', 'another root');
    const full = Math.floor(size / tileWidth);
    for (let tile = Math.max(0, full - Math.ceil(tailLeaves / tileWidth)); tile < full; tile++) {
      const hashes = read(project, tree, { level: 0, index: tile });
      const parents = read(project, tree, { level: 1, index: Math.floor(tile / tileWidth) });
      const at = (tile % tileWidth) * 32;
      const leaves = Array.from({ length: tileWidth }, (_, leaf) =>
        hashes.subarray(leaf * 32, leaf * 32 + 32),
      );
      if (merkleRoot(leaves).equals(parents.subarray(at, at + 32))) continue;
      throw broken(origin, tile * tileWidth, 'a tile that matches its parent', 'another one');
    }
  };
}

const broken = (origin: string, index: number, expected: string, got: string): GovError =>
  new GovError(
    'STORAGE_FAULT',
    `log ${origin}: expected ${expected} at leaf ${index}, got ${got}; run fsck, and restore the newest copy`,
    { extensions: { origin, index } },
  );

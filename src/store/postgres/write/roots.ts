/**
 * Computes the root of a log at any of its sizes from its tiles. Source: RFC 6962 §2.1; C2SP tlog-tiles.
 * Proven by `test/store/suite/log/checkpoints.ts`.
 */
import { rootFromTiles, rootPlan } from '../../../core/merkle/tile.ts';
import type { TreeName } from '../../port/store.ts';
import { treeNumber } from '../../append/trees.ts';
import { arrayOf } from '../connection/arrays.ts';
import type { Database } from '../connection/database.ts';
import { sql, step } from '../../read/queries.ts';

export interface Log {
  readonly project: number;
  readonly tree: TreeName;
}

const wantedTiles = sql<{ level: number; n: number; hashes: Buffer }>(
  `SELECT w.level, w.n, t.hashes FROM unnest($3::int4[], $4::int8[]) AS w(level, n)
   CROSS JOIN LATERAL (SELECT part, hashes FROM tile
     WHERE project = $1 AND tree = $2 AND level = w.level AND n = w.n OFFSET 0) t ORDER BY w.level, w.n, t.part`,
);

/** Returns the root of the first `size` leaves, 32 bytes. Cost: one read of at most 16 tiles. */
export async function rootAt(database: Database, { project, tree }: Log, size: number): Promise<Buffer> {
  const plan = rootPlan(size);
  const [{ rows }] = await database.read({ project }, [
    step(
      wantedTiles,
      project,
      treeNumber(tree),
      arrayOf(
        'int4',
        plan.map(({ level }) => level),
      ),
      arrayOf(
        'int8',
        plan.map(({ index }) => index),
      ),
    ),
  ]);
  return rootFromTiles(size, (level, index) =>
    Buffer.concat(rows.filter((row) => row.level === level && row.n === index).map(({ hashes }) => hashes)),
  );
}

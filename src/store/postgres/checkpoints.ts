/**
 * Saving a signed checkpoint. Order: the data is durable already → the head as an anchor, durable → sign → the
 * note. A crash between two steps leaves an anchor without a note, which only means that a checkpoint was about to
 * be signed. Proven by `test/store/suite/checkpoints.ts` and `test/store/postgres/processes.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { Checkpoint } from '../../core/checkpoint.ts';
import { rootFromTiles, rootPlan } from '../../core/tile.ts';
import type { Store, TreeHead, TreeName } from '../port.ts';
import { treeNumber } from '../trees.ts';
import { arrayOf } from './arrays.ts';
import type { Database } from './database.ts';
import { problemOf } from './faults.ts';
import type { ProjectNumber } from './readleaves.ts';
import { sql, step } from './wire.ts';

const origins = sql<Record<TreeName, string>>(
  'SELECT audit_origin AS audit, metering_origin AS metering FROM project WHERE project = $1',
);
const durable = sql<{ size: number }>('SELECT size FROM head WHERE project = $1 AND tree = $2');
const anchor = sql<TreeHead>('SELECT size, root FROM head_anchor WHERE project = $1 AND tree = $2');
const noteAt = sql<{ note: string }>(
  'SELECT note FROM checkpoint WHERE project = $1 AND tree = $2 AND size = $3',
);
const wantedTiles = sql<{ level: number; n: number; hashes: Buffer }>(
  `SELECT w.level, w.n, t.hashes FROM unnest($3::int4[], $4::int8[]) AS w(level, n)
   CROSS JOIN LATERAL (SELECT part, hashes FROM tile
     WHERE project = $1 AND tree = $2 AND level = w.level AND n = w.n OFFSET 0) t ORDER BY w.level, w.n, t.part`,
);
const raiseAnchor = sql(
  `INSERT INTO head_anchor (project, tree, origin, size, root) VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT (project, tree) DO UPDATE SET size = excluded.size, root = excluded.root
   WHERE excluded.size > head_anchor.size`,
);
const saveNote = sql(
  `INSERT INTO checkpoint (project, tree, size, root, note) VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT (project, tree, size) DO NOTHING`,
);
/**
 * Takes the mark away where both trees are signed as they stand. A head that is locked is being moved: the mark stays,
 * and a head that moved meanwhile is judged as it is now, so no growth loses its mark.
 */
const settle = sql(
  `DELETE FROM grown WHERE project = $1 AND 2 = (SELECT count(*) FROM (
     SELECT FROM head h WHERE h.project = $1 AND h.size =
       coalesce((SELECT max(size) FROM checkpoint c WHERE c.project = $1 AND c.tree = h.tree), 0)
     FOR UPDATE SKIP LOCKED) signed)`,
);

export function checkpointSaver(database: Database, numberOf: ProjectNumber): Store['saveCheckpoint'] {
  return async (projectId, tree, checkpoint, sign) => {
    const project = await numberOf(projectId);
    const no = treeNumber(tree);
    const { origin, size, root } = checkpoint;
    await assertOurs(database, { project, tree }, checkpoint);
    const find = step(noteAt, project, no, size);
    const [signed] = await database.read({ project }, [find]);
    if (signed.rows[0] !== undefined) return signed.rows[0].note;
    const write = (...steps: Parameters<Database['write']>[1]) =>
      database.write({ project }, steps).catch((error: unknown) => {
        throw problemOf(error);
      });
    await write(step(raiseAnchor, project, no, origin, size, Buffer.from(root)));
    const note = sign(checkpoint);
    await write(step(saveNote, project, no, size, Buffer.from(root), note), step(settle, project));
    // Another process may have signed the same head at the same time: the first note stays.
    return (await database.read({ project }, [find]))[0].rows[0]?.note ?? note;
  };
}

function refuse(origin: string, expected: string, got: string): never {
  throw new GovError(
    'CONFLICT',
    `checkpoint of ${origin}: expected ${expected}, got ${got}; it is not signed`,
  );
}

interface Log {
  readonly project: number;
  readonly tree: TreeName;
}

/** Refuses a head that is not of this log, or contradicts what was signed before. */
async function assertOurs(database: Database, log: Log, { origin, size, root }: Checkpoint): Promise<void> {
  const { project, tree } = log;
  const no = treeNumber(tree);
  const [names, heads, anchors] = await database.read({ project }, [
    step(origins, project),
    step(durable, project, no),
    step(anchor, project, no),
  ]);
  const own = names.rows[0]?.[tree];
  if (own !== origin) refuse(origin, `the origin ${own ?? 'of a known log'}`, origin);
  const newest = heads.rows[0]?.size ?? 0;
  if (size > newest) refuse(origin, `at most ${newest} durable leaves`, `${size}`);
  if (!(await rootAt(database, log, size)).equals(root)) {
    refuse(origin, `the log’s root at size ${size}`, Buffer.from(root).toString('hex'));
  }
  const kept = anchors.rows[0];
  if (kept === undefined || kept.size === size) return;
  if (kept.size > newest) refuse(origin, `the head ${kept.size} that was signed before`, `${newest} leaves`);
  if (!(await rootAt(database, log, kept.size)).equals(kept.root)) {
    refuse(origin, `the root that was signed before at size ${kept.size}`, 'another one');
  }
}

/** The root of the first `size` leaves. Cost: one read of at most 16 tiles. */
async function rootAt(database: Database, { project, tree }: Log, size: number): Promise<Buffer> {
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

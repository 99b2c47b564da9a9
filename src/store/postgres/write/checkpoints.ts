/**
 * Saves signed checkpoints and cosignatures. Source: C2SP tlog-checkpoint and tlog-cosignature. The steps
 * are: the leaves are durable already; `head_anchor` stores the head durably; this data directory stores it
 * durably; the log signs it; the database stores the note. A crash between two steps leaves a head without a
 * note: the checkpoint was about to be signed.
 * Proven by `test/store/suite/log/checkpoints.ts` and `test/store/postgres/processes.long.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import type { Checkpoint } from '../../../core/note/checkpoint.ts';
import type { Store } from '../../port/store.ts';
import type { TreeHead } from '../../port/store.ts';
import type { SignedHeads } from '../../file/signed-heads.ts';
import { treeNumber } from '../../append/trees.ts';
import type { Database } from '../connection/database.ts';
import { problemOf } from '../connection/faults.ts';
import type { ProjectNumbers } from '../read/leaves.ts';
import type { Logs, RememberedHeads } from '../connection/remembered.ts';
import { rootAt, type Log } from './roots.ts';
import { sql, step } from '../../read/queries.ts';
import { saveLine, saveNote } from '../../write/tasks.ts';
import { stepper } from '../effects/writing.ts';

const origins = sql<Logs>(
  'SELECT project, project_id, audit_origin, metering_origin FROM project WHERE project = $1',
);
const durable = sql<{ size: number }>('SELECT size FROM head WHERE project = $1 AND tree = $2');
const anchor = sql<TreeHead>('SELECT size, root FROM head_anchor WHERE project = $1 AND tree = $2');
const noteAt = sql<{ note: string }>(
  'SELECT note FROM checkpoint WHERE project = $1 AND tree = $2 AND size = $3',
);
// two statements, because two processes may store the first head of a log at once, and its origin is unique
// too
const insertAnchor = sql(
  'INSERT INTO head_anchor (project, tree, origin, size, root) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING',
);
const raiseAnchor = sql(
  'UPDATE head_anchor SET size = $3, root = $4 WHERE project = $1 AND tree = $2 AND size < $3',
);
/**
 * Removes the mark if both trees are signed at their current size. A locked head is being moved: the mark
 * stays. A head that moved meanwhile is judged at its new size, so no growth loses its mark.
 */
const settle = sql(
  `DELETE FROM grown WHERE project = $1 AND 2 = (SELECT count(*) FROM (
     SELECT FROM head h WHERE h.project = $1 AND h.size =
       coalesce((SELECT max(size) FROM checkpoint c WHERE c.project = $1 AND c.tree = h.tree), 0)
     FOR UPDATE SKIP LOCKED) signed)`,
);

export const cosignatureSaver =
  (database: Database, numbers: ProjectNumbers): Store['saveCosignatures'] =>
  async (projectId, tree, size, cosignatures) => {
    const project = await numbers.of(projectId);
    const steps = cosignatures.map(({ key, line }) =>
      stepper(project)(saveLine, { tree: treeNumber(tree), size, key, line }),
    );
    await database.write({ project }, steps).catch((error: unknown) => {
      throw problemOf(error);
    });
  };

export interface CheckpointSaverOptions {
  readonly numbers: ProjectNumbers;
  /**
   * The signed heads of this data directory, and the check against them; null if the directory remembers
   * none.
   */
  readonly heads: SignedHeads | null;
  readonly remembered: RememberedHeads | null;
}

export function checkpointSaver(
  database: Database,
  { numbers, heads, remembered }: CheckpointSaverOptions,
): Store['saveCheckpoint'] {
  return async (projectId, tree, checkpoint, sign) => {
    const project = await numbers.of(projectId);
    const no = treeNumber(tree);
    const { origin, size, root } = checkpoint;
    const logs = await assertOurs(database, { project, tree }, checkpoint);
    await remembered?.judge(logs).catch((error: unknown) => {
      numbers.forget(projectId); // so that the next use of the project is refused too
      throw error;
    });
    const find = step(noteAt, project, no, size);
    const [signed] = await database.read({ project }, [find]);
    if (signed.rows[0] !== undefined) return signed.rows[0].note;
    const write = (...steps: Parameters<Database['write']>[1]) =>
      database.write({ project }, steps).catch((error: unknown) => {
        throw problemOf(error);
      });
    const head = { size, root: Buffer.from(root) };
    await write(
      step(insertAnchor, project, no, origin, size, head.root),
      step(raiseAnchor, project, no, size, head.root),
    );
    await heads?.raise(origin, head);
    const note = sign(checkpoint);
    await write(stepper(project)(saveNote, { tree: no, size, root, note }), step(settle, project));
    // Another process may have signed the same head at the same time: the first note stays.
    return (await database.read({ project }, [find]))[0].rows[0]?.note ?? note;
  };
}

function refuse(origin: string, expected: string, got: string): never {
  throw new GovError(
    'CONFLICT',
    `checkpoint of ${origin}: expected ${expected}, got ${got}; gov did not sign it`,
  );
}

/** Refuses a head that is not of this log or that contradicts an earlier signed head. */
async function assertOurs(database: Database, log: Log, { origin, size, root }: Checkpoint): Promise<Logs> {
  const { project, tree } = log;
  const no = treeNumber(tree);
  const [names, heads, anchors] = await database.read({ project }, [
    step(origins, project),
    step(durable, project, no),
    step(anchor, project, no),
  ]);
  const [logs] = names.rows;
  const own = tree === 'audit' ? logs?.audit_origin : logs?.metering_origin;
  if (logs === undefined || own !== origin) {
    return refuse(origin, `the origin ${own ?? 'of a known log'}`, origin);
  }
  const newest = heads.rows[0]?.size ?? 0;
  if (size > newest) refuse(origin, `at most ${newest} durable leaves`, `${size}`);
  if (!(await rootAt(database, log, size)).equals(root)) {
    refuse(origin, `the log’s root at size ${size}`, Buffer.from(root).toString('hex'));
  }
  const kept = anchors.rows[0];
  if (kept === undefined || kept.size === size) return logs;
  if (kept.size > newest)
    refuse(origin, `the earlier signed head of ${kept.size} leaves`, `${newest} leaves`);
  if (!(await rootAt(database, log, kept.size)).equals(kept.root)) {
    refuse(origin, `the earlier signed root at size ${kept.size}`, 'another root');
  }
  return logs;
}

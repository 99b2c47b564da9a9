/**
 * Saves signed checkpoints. Source: C2SP tlog-checkpoint. The steps are: the leaves are durable already;
 * `heads.db` stores the head durably; the log signs it; the database stores the note. A crash between two
 * steps leaves a head without a note: the checkpoint was about to be signed.
 * Proven by `test/store/file/heads.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import type { Checkpoint } from '../../../core/note/checkpoint.ts';
import { rootFromTiles } from '../../../core/merkle/tile.ts';
import type { Store } from '../../port/store.ts';
import type { TreeName } from '../../port/store.ts';
import type { Connection, Value } from '../../file/connection.ts';
import type { Heads } from '../../file/heads.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import type { Note } from '../effects/tasks.ts';
import { tileReader } from '../../file/tiles.ts';
import { treeNumber } from '../../append/trees.ts';
import type { OfProject } from './operations.ts';

export interface CheckpointSaverOptions {
  readonly reading: Connection;
  readonly heads: Heads;
  readonly numberOf: ProjectNumber;
  /** Saves a note in the next commit. */
  readonly save: (of: OfProject, note: Note) => Promise<void>;
  /** Returns why the store can neither write nor sign now, or null. */
  readonly trouble: () => GovError | null;
  /** Handles a storage error and returns the problem for the caller. */
  readonly failed: (error: unknown) => GovError;
}

export function checkpointSaver(options: CheckpointSaverOptions): Store['saveCheckpoint'] {
  const { reading, heads, numberOf, save, trouble, failed } = options;
  const find = reading
    .prepare<Value[], string>('SELECT note FROM checkpoint WHERE project = ? AND tree = ? AND size = ?')
    .pluck();
  const assertOurs = headJudge(reading, heads);
  return async (projectId, tree, checkpoint, sign) => {
    const project = numberOf(projectId);
    const { origin, size, root } = checkpoint;
    assertOurs(project, tree, checkpoint);
    const signed = find.get(project, treeNumber(tree), size);
    if (signed !== undefined) return signed;
    const stopped = trouble();
    if (stopped !== null) throw stopped;
    try {
      heads.raise(origin, { size, root });
    } catch (error) {
      throw failed(error);
    }
    const note = sign(checkpoint);
    await save({ projectId, project }, { tree: treeNumber(tree), size, root, note });
    return find.get(project, treeNumber(tree), size) ?? note;
  };
}

/** Refuses a head that is not of this log or that contradicts an earlier signed head. Cost: 1 ms. */
function headJudge(reading: Connection, heads: Heads) {
  const origins = reading.prepare<Value[], Record<TreeName, string>>(
    'SELECT audit_origin AS audit, metering_origin AS metering FROM project WHERE project = ?',
  );
  const durable = reading
    .prepare<Value[], number>('SELECT size FROM head WHERE project = ? AND tree = ?')
    .pluck();
  const read = tileReader(reading);
  const refuse = (origin: string, expected: string, got: string): never => {
    throw new GovError(
      'CONFLICT',
      `checkpoint of ${origin}: expected ${expected}, got ${got}; gov did not sign it`,
    );
  };
  return (project: number, tree: TreeName, { origin, size, root }: Checkpoint): void => {
    const own = origins.get(project)?.[tree];
    if (own !== origin) refuse(origin, `the origin ${own ?? 'of a known log'}`, origin);
    const newest = durable.get(project, treeNumber(tree)) ?? 0;
    if (size > newest) refuse(origin, `at most ${newest} durable leaves`, `${size}`);
    const rootAt = (at: number): Buffer =>
      rootFromTiles(at, (level, index) => read(project, tree, { level, index }));
    if (!rootAt(size).equals(root)) refuse(origin, `the log’s root at size ${size}`, root.toString('hex'));
    const kept = heads.find(origin);
    if (kept === null || (kept.size === size && kept.root.equals(root))) return;
    if (kept.size > newest) refuseLacking(origin, `${kept.size} leaves`, `${newest}`);
    if (!rootAt(kept.size).equals(kept.root)) {
      refuseLacking(origin, `root ${kept.root.toString('hex')} at size ${kept.size}`, 'another one');
    }
  };
}

/** Also needed while the log is served: the process may learn of a newer signed head only then. */
function refuseLacking(origin: string, expected: string, got: string): never {
  throw new GovError(
    'STORAGE_FAULT',
    `log ${origin}: expected ${expected}, as the signed head says, got ${got}; the database is an older copy or was ` +
      'changed, and gov signs nothing more of it; restore the newest copy, or, if none is left, begin a new log with ' +
      'gov log recover',
    { extensions: { origin } },
  );
}

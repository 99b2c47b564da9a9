/**
 * The second file: the newest signed head of each tree, separate from the database (ideally on another
 * volume).
 * It detects a database restored from an old backup before that database signs a second history. Order of a
 * checkpoint: data durable → head here, durable → sign → note into the database. A crash between two steps
 * leaves this file ahead of the notes, never behind.
 * Proven by `test/store/file/heads.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { rootFromTiles } from '../../core/merkle/tile.ts';
import type { TreeHead } from '../port/store.ts';
import type { TreeName } from '../port/store.ts';
import { connect, type Connection, type Value } from './connection.ts';
import type { Faults } from './faults.ts';
import { migrate, schemaVersion, type MigrationStep } from './migrate.ts';
import { headDelete, headsApplicationId, headsMigrations, headUpdate } from './schema/tables.ts';
import { preparer } from './statement.ts';
import { tileReader } from './tiles.ts';
import { treeNumber } from '../append/trees.ts';

/** A head of the log with this origin. */
export interface NamedHead extends TreeHead {
  readonly origin: string;
}

export interface Heads {
  find(origin: string): TreeHead | null;
  all(): IterableIterator<NamedHead>;
  /** The last raised head. */
  newest(): NamedHead | null;
  /** Durable when it returns. A size below the stored one changes nothing. */
  raise(origin: string, head: TreeHead): void;
  /**
   * Stores a signed head that the log lacks; the log has `have` leaves. From then on the log is refused.
   * Replaces a stored head that the log has, since that head belongs to the other history. Durable when it
   * returns.
   */
  learn(head: NamedHead, have: number): void;
  /** Forgets every head, on purpose. */
  clear(): void;
  close(): void;
}

/** Size of the write-ahead log, in pages, that starts copying into the file: 512 KiB. */
const walPages = 64;

/** `relaxed`: does not wait for the disk. A raised head is durable after a sync of the write-ahead log. */
export function openHeads(
  path: string,
  options: {
    readonly?: boolean;
    relaxed?: boolean;
    faults?: Faults | undefined;
    onMigration?: ((step: MigrationStep) => void) | undefined;
  } = {},
): Heads {
  const { readonly = false, relaxed = false, faults, onMigration } = options;
  const db = connect(path, { applicationId: headsApplicationId, readonly, cacheKiB: 256 });
  if (!readonly) {
    migrate(db, headsMigrations, onMigration);
    db.pragma(`wal_autocheckpoint = ${walPages}`);
    if (relaxed) db.pragma('synchronous = NORMAL');
  }
  const prepare = preparer(db, faults);
  const find = db.prepare<Value[], TreeHead>('SELECT size, root FROM head WHERE origin = ?');
  const all = db.prepare<Value[], NamedHead>('SELECT origin, size, root FROM head');
  const raise = prepare(
    'raise head',
    `INSERT INTO head (origin, size, root) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET size = excluded.size, root = excluded.root WHERE excluded.size > size`,
  );
  return {
    find: (origin) => find.get(origin) ?? null,
    all: () => all.iterate(),
    // a file of an older release lacks this table, and a read-only connection does not migrate
    newest: () => (schemaVersion(db) < 2 ? null : (db.prepare<Value[], NamedHead>(newestSql).get() ?? null)),
    raise: (origin, { size, root }) => {
      raise.run(origin, size, root);
    },
    learn: ({ origin, size, root }, have) => {
      const replace = (): void => {
        const kept = find.get(origin);
        if (kept === undefined || kept.size < size || kept.size > have)
          return void raise.run(origin, size, root);
        db.exec('DROP TRIGGER head_update');
        db.prepare<Value[]>('UPDATE head SET size = ?, root = ? WHERE origin = ?').run(size, root, origin);
        db.exec(headUpdate);
      };
      db.transaction(replace).immediate();
    },
    clear: () => db.transaction(() => db.exec(clearSql))(),
    close: () => db.close(),
  };
}

const newestSql = 'SELECT origin, size, root FROM newest JOIN head USING (origin)';
const clearSql = `DROP TRIGGER head_delete; DELETE FROM head; ${headDelete}`;

/** The parts of a tree in the main database that a comparison of heads needs. */
export interface LogHead extends TreeHead {
  readonly projectId: string;
  readonly project: number;
  readonly tree: TreeName;
  readonly origin: string;
  /** Size of the newest signed checkpoint; 0 without one. */
  readonly signedSize: number;
}

const logHeadsSql = (tree: TreeName): string =>
  `SELECT project.project, project.project_id AS projectId, project.${tree}_origin AS origin, head.size, head.root, '${tree}' AS tree,
     coalesce((SELECT max(c.size) FROM checkpoint c
       WHERE c.project = project.project AND c.tree = head.tree), 0) AS signedSize
   FROM project JOIN head ON head.project = project.project AND head.tree = ${treeNumber(tree)}`;

/** Both trees of the last written projects. Cost: a pass over the heads of all projects. */
export function recentLogHeads(db: Connection, projects: number): LogHead[] {
  const recent = 'SELECT project FROM head WHERE tree = 0 ORDER BY last_ms DESC, project DESC LIMIT ?';
  return (['audit', 'metering'] as const).flatMap((tree) =>
    db.prepare<Value[], LogHead>(`${logHeadsSql(tree)} WHERE project.project IN (${recent})`).all(projects),
  );
}

/** All trees, one at a time. */
export function* logHeads(db: Connection): Generator<LogHead, void> {
  for (const tree of ['audit', 'metering'] as const) {
    yield* db.prepare<Value[], LogHead>(`${logHeadsSql(tree)} ORDER BY project.project`).iterate();
  }
}

/** Finds a tree by the origin of its log. */
function logFinder(db: Connection): (origin: string) => LogHead | undefined {
  const select = (tree: TreeName) =>
    db.prepare<Value[], LogHead>(`${logHeadsSql(tree)} WHERE project.${tree}_origin = ?`);
  const [audit, metering] = [select('audit'), select('metering')];
  return (origin) => audit.get(origin) ?? metering.get(origin);
}

/** A contradiction between the two files. `behind` names the file that seems older. */
export interface HeadsMismatch {
  readonly behind: 'database' | 'heads' | 'neither';
  readonly origin: string;
  readonly expected: string;
  readonly got: string;
}

/** The reads of the second file. */
export type KeptHeadsFile = Pick<Heads, 'find' | 'all' | 'newest'>;

/**
 * The heads of these logs, and the last raised one, which an older copy of the database lacks. All heads if
 * the last raised one is unknown.
 */
function* keptOf(heads: KeptHeadsFile, logs: readonly LogHead[]): Generator<NamedHead, void> {
  const newest = heads.newest();
  if (newest === null) return yield* heads.all();
  yield newest;
  for (const { origin } of logs) {
    const head = heads.find(origin);
    if (head !== null) yield { origin, ...head };
  }
}

/**
 * Compares the two files, tree by tree: all trees, or those of `logs`. Cost per tree: one root from tiles, 1
 * ms.
 */
export function* compareHeads(
  db: Connection,
  heads: KeptHeadsFile,
  logs?: readonly LogHead[],
): Generator<HeadsMismatch, void> {
  yield* headMismatches(db, logs === undefined ? heads.all() : keptOf(heads, logs));
  for (const { origin, signedSize } of logs ?? logHeads(db)) {
    const kept = heads.find(origin)?.size ?? 0;
    if (kept >= signedSize) continue;
    const expected = `a signed head of at least ${signedSize} leaves`;
    yield { behind: 'heads', origin, expected, got: `${kept} leaves` };
  }
}

/** Finds signed heads that the database lacks, or of which it has another root. */
export function* headMismatches(db: Connection, signed: Iterable<NamedHead>): Generator<HeadsMismatch, void> {
  const read = tileReader(db);
  const find = logFinder(db);
  for (const { origin, size, root } of signed) {
    const log = find(origin);
    const expected = `a log of at least ${size} leaves`;
    if (log === undefined) {
      yield { behind: 'database', origin, expected, got: 'no such log' };
    } else if (log.size < size) {
      yield { behind: 'database', origin, expected, got: `${log.size} leaves` };
    } else {
      const own = rootFromTiles(size, (level, index) => read(log.project, log.tree, { level, index }));
      const [want, got] = [root.toString('hex'), own.toString('hex')];
      if (want === got) continue;
      yield { behind: 'neither', origin, expected: `root ${want} at size ${size}`, got: `root ${got}` };
    }
  }
}

/** The kind of start: whether it rebuilds the second file, and whether it starts a service or a plane. */
interface Start {
  readonly rebuild: boolean;
  readonly hosted: boolean;
  /** The compared logs; all if absent. */
  readonly logs?: readonly LogHead[] | undefined;
}

/**
 * Throws CONFLICT if the two files contradict each other. `rebuild`: if the heads file was lost or is older,
 * the newest notes of the database replace its heads.
 */
export function reconcileHeads(db: Connection, heads: Heads, start: Start): void {
  refuseMismatch(db, heads, start);
  if (!start.rebuild) return;
  const read = tileReader(db);
  for (const { origin, signedSize, project, tree } of logHeads(db)) {
    if (signedSize === 0) continue;
    const root = rootFromTiles(signedSize, (level, index) => read(project, tree, { level, index }));
    heads.raise(origin, { size: signedSize, root });
  }
}

/** Throws CONFLICT if the two files contradict each other. `rebuild` permits an older heads file. */
export function refuseMismatch(db: Connection, heads: KeptHeadsFile, { rebuild, hosted, logs }: Start): void {
  for (const mismatch of compareHeads(db, heads, logs)) {
    if (mismatch.behind !== 'heads' || !rebuild) refuse(mismatch, hosted);
  }
}

/** Throws CONFLICT if a service's database is missing but the second file has logs. */
export function refuseUnknown(heads: KeptHeadsFile): void {
  for (const { origin, size } of keptOf(heads, [])) {
    const expected = `a log of at least ${size} leaves`;
    refuse({ behind: 'database', origin, expected, got: 'no such log' }, true);
  }
}

function refuse({ behind, origin, expected, got }: HeadsMismatch, hosted: boolean): never {
  const advice = {
    database:
      'the database is an older copy, and signing from it would make a second history; restore the newest one' +
      (hosted ? '' : ', or, where none is left, begin a new log with gov log recover'),
    heads:
      'the heads file was lost or is an older copy; restore it, or, if the database is certainly the newest, ' +
      `start once with gov ${hosted ? 'service' : 'plane'} serve --rebuild-heads`,
    neither:
      'the log was changed, or differs from the signed history; run fsck, and restore the newest copy' +
      (hosted ? '' : ', or, where none is left, begin a new log with gov log recover'),
  }[behind];
  throw new GovError('CONFLICT', `log ${origin}: expected ${expected}, got ${got}; ${advice}`, {
    extensions: { origin, behind },
  });
}

/**
 * `fsck`: checks one tree (RFC 6962 §2.1).
 * It appends the leaf hashes of the tiles to a frontier, one by one, and compares each inner hash of a tile,
 * each head and each signed checkpoint with it. It compares records with the same leaf hashes. One altered
 * record is therefore one problem at its own index, and not a wrong root.
 * Proven by `test/store/fsck/tamper.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import { parseCheckpoint } from '../../../core/note/checkpoint.ts';
import { Frontier, hashBytes, leafHash } from '../../../core/merkle/tree.ts';
import { tileWidth } from '../../../core/merkle/tile.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import { KeyCheck } from './keys.ts';
import type { TreeName } from '../../port/store.ts';
import type { Value } from '../../file/connection.ts';
import { tileReader } from '../../file/tiles.ts';
import { treeNumber } from '../../append/trees.ts';

/** The expected root at a size. */
interface Milestone {
  readonly size: number;
  readonly root: Buffer;
  readonly position: string;
  /** The signed checkpoint; absent for the head. */
  readonly note?: string;
}

export class TreeCheck {
  readonly #frontier = new Frontier();
  readonly #check: Check;
  readonly #prefix: string;
  readonly #milestones: Iterator<Milestone>;
  #awaited: Milestone | undefined;
  readonly #tile: (level: number, index: number) => Buffer;
  /** The tile of each level under comparison. */
  readonly #open: { index: number; hashes: Buffer }[] = [];
  readonly #keys: KeyCheck;
  readonly #origin: string;

  /** `roots`: further expected roots, ascending by size. */
  constructor(
    check: Check,
    project: CheckedProject,
    { tree, roots = [] }: { readonly tree: TreeName; readonly roots?: readonly Milestone[] },
  ) {
    this.#check = check;
    this.#prefix = `${project.projectId}/${tree}`;
    const read = tileReader(check.db);
    this.#tile = (level, index) => read(project.no, tree, { level, index });
    this.#keys = new KeyCheck(check, project, tree);
    this.#origin = tree === 'audit' ? project.auditOrigin : project.meteringOrigin;
    this.#milestones = inOrder(milestonesOf(check, project, tree), roots);
    this.#awaited = this.#nextMilestone();
    this.#meetMilestones();
  }

  get size(): number {
    return this.#frontier.size;
  }

  /**
   * Compares the next leaf. `record` is null if its row is missing, which is a problem unless the event is
   * pruned.
   */
  next(record: string | null, { pruned = false }: { readonly pruned?: boolean } = {}): void {
    const index = this.#frontier.size;
    if (record !== null) this.#keys.read(index, record);
    const own = record === null ? null : leafHash(record);
    const stored = this.#storedHash(0, index);
    if (own === null) {
      if (!pruned) this.#problem(`${index}`, 'record_missing', { expected: 'a record', got: 'none' });
    } else if (stored === null) {
      this.#problem(`${index}`, 'tile_missing', { expected: own.toString('hex'), got: 'no hash' });
    } else if (!own.equals(stored)) {
      this.#problem(`${index}`, 'record_altered', {
        expected: stored.toString('hex'),
        got: own.toString('hex'),
      });
    }
    this.#frontier.append(stored ?? own ?? Buffer.alloc(hashBytes), (height, hash) => {
      if (height % 8 === 0) this.#compareParent(height / 8, index, hash);
    });
    this.#meetMilestones();
  }

  #compareParent(level: number, leaf: number, hash: Buffer): void {
    const position = Math.floor(leaf / tileWidth ** level);
    const stored = this.#storedHash(level, position);
    if (stored?.equals(hash) === true) return;
    const where = `tile/${level}/${Math.floor(position / tileWidth)}`;
    const got = stored?.toString('hex') ?? 'no hash';
    this.#problem(where, stored === null ? 'tile_missing' : 'tile_altered', {
      expected: hash.toString('hex'),
      got,
    });
  }

  /** The hash at a position of a tile level. Reads one tile at a time. */
  #storedHash(level: number, position: number): Buffer | null {
    const index = Math.floor(position / tileWidth);
    let open = this.#open[level];
    if (open?.index !== index) this.#open[level] = open = { index, hashes: this.#tile(level, index) };
    const at = (position % tileWidth) * hashBytes;
    return open.hashes.length < at + hashBytes ? null : open.hashes.subarray(at, at + hashBytes);
  }

  #meetMilestones(): void {
    for (; this.#awaited?.size === this.#frontier.size; this.#awaited = this.#nextMilestone()) {
      this.#judge(this.#awaited);
      const root = this.#frontier.root();
      if (root.equals(this.#awaited.root)) continue;
      const [expected, got] = [this.#awaited.root.toString('hex'), root.toString('hex')];
      this.#check.problem(this.#awaited.position, 'root_mismatch', { expected, got });
    }
  }

  /** Checks that a key in force according to the leaves below signed it. */
  #judge({ note, position }: Milestone): void {
    const { deep, judgeNote } = this.#check;
    if (note === undefined || !deep || judgeNote === undefined) return;
    const got = judgeNote(note, this.#origin, this.#keys.inForce);
    if (got === null) return;
    this.#check.problem(position, 'checkpoint_signature', { expected: 'a valid signature', got });
  }

  #nextMilestone(): Milestone | undefined {
    const { done, value } = this.#milestones.next();
    return done === true ? undefined : value;
  }

  #problem(
    where: string,
    kind: Parameters<Check['problem']>[1],
    what: { expected: string; got: string },
  ): void {
    this.#check.problem(`${this.#prefix}/${where}`, kind, what);
  }
}

/** Merges two lists that are sorted by size. */
function* inOrder(own: Iterable<Milestone>, others: readonly Milestone[]): Generator<Milestone, void> {
  const rest = [...others];
  for (const milestone of own) {
    while ((rest[0]?.size ?? Infinity) <= milestone.size) yield rest.shift() as Milestone; // the loop condition proves that there is one
    yield milestone;
  }
  yield* rest;
}

interface HeadRow {
  readonly size: number;
  readonly root: Buffer;
}

interface NoteRow extends HeadRow {
  readonly note: string;
}

/** Signed checkpoints up to the checked size, and the head itself, by size. */
function* milestonesOf(check: Check, project: CheckedProject, tree: TreeName): Generator<Milestone, void> {
  const { db } = check;
  const size = tree === 'audit' ? project.auditSize : project.meteringSize;
  const origin = tree === 'audit' ? project.auditOrigin : project.meteringOrigin;
  const prefix = `${project.projectId}/${tree}`;
  const after = db.prepare<Value[], NoteRow>(
    `SELECT size, root, note FROM checkpoint WHERE project = ? AND tree = ? AND size > ? AND size <= ?
     ORDER BY size LIMIT 1`,
  );
  const next = (last: number) => after.get(project.no, treeNumber(tree), last, size);
  for (let row = next(-1); row !== undefined; row = next(row.size)) {
    const position = `${prefix}/checkpoint/${row.size}`;
    compare(check, row, { origin, position });
    yield { size: row.size, root: row.root, note: row.note, position };
  }
  const head = db
    .prepare<Value[], HeadRow>('SELECT size, root FROM head WHERE project = ? AND tree = ?')
    .get(project.no, treeNumber(tree));
  if (head?.size === size) yield { ...head, position: `${prefix}/head` };
}

function compare(
  check: Check,
  row: NoteRow,
  { origin, position }: { origin: string; position: string },
): void {
  check.checkpoint();
  const fault = noteFault(row, origin);
  if (fault === null) return;
  const expected = `a note of ${origin} at ${row.size} with root ${row.root.toString('hex')}`;
  check.problem(position, 'checkpoint_mismatch', { expected, got: fault });
}

/** The difference between a note and its row, or null. */
function noteFault({ note, size, root }: NoteRow, origin: string): string | null {
  try {
    const signed = parseCheckpoint(`${note.split('\n\n')[0] ?? ''}\n`);
    const same = signed.origin === origin && signed.size === size && signed.root.equals(root);
    return same
      ? null
      : `a note of ${signed.origin} at ${signed.size} with root ${signed.root.toString('hex')}`;
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    return error.message;
  }
}

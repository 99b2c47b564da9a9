/**
 * The keys of subjects as the writer needs them. New keys are durable before the commit of the bodies that they seal;
 * what an erasure destroys is locked before the commit of its leaf, which fails where another program holds the file, and
 * destroyed after it, before anybody is answered. A crash between the two leaves an unused key, or one that
 * `openOwnSubjects` destroys: the log says so in `erased_key`.
 * Proven by `test/store/erasure/subject-keys.test.ts` and `test/store/sqlite/effects/faults-subjects.long.test.ts`.
 */
import { inOrder, newSubjectKey, type SubjectKey, type SubjectKeyRows } from '../../erasure/subject-keys.ts';
import type { Connection } from '../../file/connection.ts';
import { cutLog } from '../../file/cut.ts';
import type { Prepare, Statement } from '../../file/statement.ts';
import {
  keyDestroyer,
  keyReader,
  keyStateReader,
  subjectReader,
  type KeyDestroyer,
} from '../../file/subjects.ts';

/** Keys that are held in memory: some 3 MB. */
const heldKeys = 10_000;

export interface SubjectKeys {
  /** What a body about these subjects is sealed with; makes the keys that are missing. */
  of(project: number, subjects: readonly string[]): readonly SubjectKey[];
  /** By their ids; null for one that is destroyed, or not there. */
  readonly find: (keyId: string) => SubjectKey | null;
  /** Makes new keys durable, and writes zeros over those that go, which `destroy` commits. */
  flush(): void;
  /** The transaction of the log ended, durably or not. */
  settle(): void;
  forget(): void;
  /**
   * Destroys what the log says is destroyed by now; false where a reader holds an older state of the file, so that it is
   * to be called again, and once after a start. Throws what a statement throws, and goes on the next time.
   */
  destroy(): boolean;
  rows(current: { readonly project: number }): Omit<SubjectKeyRows, 'hasSealed' | 'owedOf'> & {
    /** Whether a body that is about to be stored is sealed with the key of a subject. */
    isUsed(subject: string): boolean;
  };
}

interface Made extends SubjectKey {
  readonly project: number;
  readonly subject: string;
}

interface Parts {
  /** Of the log, and of the file of keys. */
  readonly prepare: Prepare;
  readonly prepareKeys: Prepare;
  /** Drops what was derived from keys. */
  readonly forgetDerived: () => void;
}

/** `subjects`: the file of keys. */
export function subjectKeys(subjects: Connection, parts: Parts): SubjectKeys {
  const doomed = new Doomed(subjects, parts);
  const keys = new KeyMaker(subjects, parts, (keyId) => doomed.has(keyId));
  const find = keyReader(subjects);
  const keyState = keyStateReader(subjects);
  return {
    find,
    of: (project, names) => (names.length === 0 ? none : keys.of(project, names)),
    flush: () => {
      keys.flush();
      doomed.begin();
    },
    settle: () => keys.settle(),
    forget: () => {
      keys.forget();
      doomed.undo();
    },
    destroy: () => {
      if (doomed.destroy()) {
        keys.release();
        parts.forgetDerived();
      }
      return doomed.cut();
    },
    rows: (current) => ({
      subjectKeys: (subject) => keys.allOf(current.project, subject),
      keyState,
      isUsed: (subject) => keys.allOf(current.project, subject).some((id) => keys.used.has(id)),
      destroyKeys: (_subject, keyIds, leaf) => doomed.add(current.project, keyIds, leaf),
    }),
  };
}

/** Keys that an erasure destroys, if it was stored. */
class Doomed {
  /** With their projects. */
  private readonly ids = new Map<string, number>();
  /** Whether the file and its write-ahead log hold none of what was destroyed; of one that was opened nobody knows. */
  private isCut = false;
  private isBegun = false;
  private readonly subjects: Connection;
  private readonly destroyer: KeyDestroyer;
  private readonly insert: Statement;
  private readonly find: Statement;

  constructor(subjects: Connection, { prepare, prepareKeys }: Parts) {
    this.subjects = subjects;
    this.destroyer = keyDestroyer(subjects, prepareKeys);
    this.insert = prepare(
      'erase subject key',
      'INSERT INTO erased_key (project, leaf_index, key_id) VALUES (?, ?, ?)',
    );
    this.find = prepare('find erased key', 'SELECT 1 FROM erased_key WHERE project = ? AND key_id = ?');
  }

  add(project: number, keyIds: readonly string[], leaf: number): void {
    for (const id of keyIds) {
      this.insert.run(project, leaf, id);
      this.ids.set(id, project);
    }
  }

  /** Whether the log says so; of an erasure that was refused it does not. */
  has(keyId: string): boolean {
    const project = this.ids.get(keyId);
    return project !== undefined && this.find.get(project, keyId) !== undefined;
  }

  begin(): void {
    const ids = [...this.ids.keys()].filter((id) => this.has(id));
    if (ids.length === 0) return;
    this.destroyer.begin(ids);
    this.isBegun = true;
  }

  undo(): void {
    this.destroyer.undo();
    this.isBegun = false;
  }

  /** Outside of a transaction of the log; false where there was nothing to destroy. */
  destroy(): boolean {
    if (this.ids.size === 0) return false;
    if (!this.isBegun) this.begin(); // again
    if (this.isBegun) {
      this.isBegun = false;
      this.isCut = false;
      this.destroyer.commit();
    }
    this.ids.clear();
    return true;
  }

  cut(): boolean {
    this.isCut ||= cutLog(this.subjects);
    return this.isCut;
  }
}

/** Keys of subjects, by project and subject, and those that this commit makes. */
class KeyMaker {
  /** Ids of keys that requests of this commit sealed with. */
  readonly used = new Set<string>();
  private readonly held = new Map<string, SubjectKey>();
  private made: Made[] = [];
  private readonly isErased: (keyId: string) => boolean;
  private readonly subjects: Connection;
  private readonly statements: Record<'begin' | 'insert' | 'commit', Statement>;
  private readonly find: ReturnType<typeof subjectReader>;

  constructor(subjects: Connection, { prepareKeys }: Parts, isErased: (keyId: string) => boolean) {
    this.subjects = subjects;
    this.isErased = isErased;
    this.find = subjectReader(subjects);
    this.statements = {
      begin: prepareKeys('begin subject keys', 'BEGIN IMMEDIATE'),
      insert: prepareKeys(
        'insert subject key',
        'INSERT INTO subject_key (project, key_id, subject, secret) VALUES (?, ?, ?, ?)',
      ),
      commit: prepareKeys('commit subject keys', 'COMMIT'),
    };
  }

  of(project: number, subjects: readonly string[]): SubjectKey[] {
    const keys = inOrder(subjects.map((subject) => this.keyOf(project, subject)));
    for (const { id } of keys) this.used.add(id);
    return keys;
  }

  /** Ids of all that are there, or about to be. */
  allOf(project: number, subject: string): string[] {
    const stored = this.find(project, subject).map(({ id }) => id);
    const made = this.made.flatMap((key) =>
      key.project === project && key.subject === subject ? [key.id] : [],
    );
    return [...stored, ...made].filter((id) => !this.isErased(id));
  }

  flush(): void {
    if (this.made.length === 0) return;
    const { begin, insert, commit } = this.statements;
    try {
      begin.run();
      for (const { project, id, subject, secret } of this.made) insert.run(project, id, subject, secret);
      commit.run();
      this.made = [];
    } finally {
      if (this.subjects.inTransaction) this.subjects.exec('ROLLBACK');
    }
  }

  settle(): void {
    this.used.clear();
    if (this.held.size > heldKeys) this.held.clear();
  }

  forget(): void {
    this.made = [];
    this.used.clear();
    this.held.clear();
  }

  release(): void {
    this.held.clear();
  }

  private keyOf(project: number, subject: string): SubjectKey {
    const name = `${project}/${subject}`;
    const held = this.held.get(name);
    if (held !== undefined && !this.isErased(held.id)) return held;
    const found = this.find(project, subject).find(({ id }) => !this.isErased(id));
    const key = found ?? newSubjectKey();
    if (found === undefined) this.made.push({ ...key, project, subject });
    this.held.set(name, key);
    return key;
  }
}

const none: readonly SubjectKey[] = [];

/** Without a master key. */
export const noSubjectKeys: SubjectKeys = {
  of: () => none,
  find: () => null,
  flush: () => {},
  settle: () => {},
  forget: () => {},
  destroy: () => true,
  rows: () => ({
    subjectKeys: () => [],
    keyState: () => 'absent',
    isUsed: () => false,
    destroyKeys: () => {},
  }),
};

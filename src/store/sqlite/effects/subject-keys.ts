/**
 * The keys of subjects in the writer. New keys are durable before the commit of the bodies that they seal. An
 * erasure locks its keys before the commit of its leaf, which fails if another program holds the file. It
 * destroys them after that commit, before the caller gets a response. A crash between the two leaves an
 * unused key, or a key that the log names in `erased_key`; `openOwnSubjects` then destroys it at the next
 * start.
 * Proven by `test/store/erasure/subject-keys.test.ts` and
 * `test/store/sqlite/effects/faults-subjects.long.test.ts`.
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

/** Keys cached in memory: about 3 MB. */
const heldKeys = 10_000;

export interface SubjectKeys {
  /** Returns the keys that seal a body about these subjects; creates missing keys. */
  of(project: number, subjects: readonly string[]): readonly SubjectKey[];
  /** Finds a key by its id; null if it is destroyed or missing. */
  readonly find: (keyId: string) => SubjectKey | null;
  /** Makes new keys durable. Overwrites doomed keys with zeros in a transaction that `destroy` commits. */
  flush(): void;
  /** Called when the transaction of the log has ended: `settle` if it is durable, `forget` if it is not. */
  settle(): void;
  forget(): void;
  /**
   * Destroys the keys that the log says are destroyed. False if a reader holds an older state of the file:
   * call it again; also call it once after a start. Throws what a statement throws, and continues at the next
   * call.
   */
  destroy(): boolean;
  rows(current: { readonly project: number }): Omit<SubjectKeyRows, 'hasSealed' | 'owedOf'> & {
    /** Whether a body that waits to be stored is sealed with a key of the subject. */
    isUsed(subject: string): boolean;
  };
}

interface NewKey extends SubjectKey {
  readonly project: number;
  readonly subject: string;
}

interface Parts {
  /** Prepares statements on the database of the log; `prepareKeys` on the file of keys. */
  readonly prepare: Prepare;
  readonly prepareKeys: Prepare;
  /** Drops values derived from keys. */
  readonly forgetDerived: () => void;
}

/** `subjects`: the connection to the file of keys. */
export function subjectKeys(subjects: Connection, parts: Parts): SubjectKeys {
  const doomed = new KeyDestruction(subjects, parts);
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

/** The keys that an erasure destroys once it is stored. */
class KeyDestruction {
  /** Key id → project. */
  readonly #ids = new Map<string, number>();
  /** Whether the file and its write-ahead log hold no destroyed key. Unknown, so false, after opening. */
  #isCut = false;
  #isBegun = false;
  readonly #subjects: Connection;
  readonly #destroyer: KeyDestroyer;
  readonly #insert: Statement;
  readonly #find: Statement;

  constructor(subjects: Connection, { prepare, prepareKeys }: Parts) {
    this.#subjects = subjects;
    this.#destroyer = keyDestroyer(subjects, prepareKeys);
    this.#insert = prepare(
      'erase subject key',
      'INSERT INTO erased_key (project, leaf_index, key_id) VALUES (?, ?, ?)',
    );
    this.#find = prepare('find erased key', 'SELECT 1 FROM erased_key WHERE project = ? AND key_id = ?');
  }

  add(project: number, keyIds: readonly string[], leaf: number): void {
    for (const id of keyIds) {
      this.#insert.run(project, leaf, id);
      this.#ids.set(id, project);
    }
  }

  /** Whether the log names the key; it does not name keys of a refused erasure. */
  has(keyId: string): boolean {
    const project = this.#ids.get(keyId);
    return project !== undefined && this.#find.get(project, keyId) !== undefined;
  }

  begin(): void {
    const ids = [...this.#ids.keys()].filter((id) => this.has(id));
    if (ids.length === 0) return;
    this.#destroyer.begin(ids);
    this.#isBegun = true;
  }

  undo(): void {
    this.#destroyer.undo();
    this.#isBegun = false;
  }

  /** Runs outside a transaction of the log. False if there was nothing to destroy. */
  destroy(): boolean {
    if (this.#ids.size === 0) return false;
    if (!this.#isBegun) this.begin(); // a second try
    if (this.#isBegun) {
      this.#isBegun = false;
      this.#isCut = false;
      this.#destroyer.commit();
    }
    this.#ids.clear();
    return true;
  }

  cut(): boolean {
    this.#isCut ||= cutLog(this.#subjects);
    return this.#isCut;
  }
}

/** Keys of subjects, by project and subject, and the new keys of this commit. */
class KeyMaker {
  /** Ids of the keys that sealed bodies of this commit. */
  readonly used = new Set<string>();
  readonly #held = new Map<string, SubjectKey>();
  #made: NewKey[] = [];
  readonly #isErased: (keyId: string) => boolean;
  readonly #subjects: Connection;
  readonly #statements: Record<'begin' | 'insert' | 'commit', Statement>;
  readonly #find: ReturnType<typeof subjectReader>;

  constructor(subjects: Connection, { prepareKeys }: Parts, isErased: (keyId: string) => boolean) {
    this.#subjects = subjects;
    this.#isErased = isErased;
    this.#find = subjectReader(subjects);
    this.#statements = {
      begin: prepareKeys('begin subject keys', 'BEGIN IMMEDIATE'),
      insert: prepareKeys(
        'insert subject key',
        'INSERT INTO subject_key (project, key_id, subject, secret) VALUES (?, ?, ?, ?)',
      ),
      commit: prepareKeys('commit subject keys', 'COMMIT'),
    };
  }

  of(project: number, subjects: readonly string[]): SubjectKey[] {
    const keys = inOrder(subjects.map((subject) => this.#keyOf(project, subject)));
    for (const { id } of keys) this.used.add(id);
    return keys;
  }

  /** Ids of all stored and new keys. */
  allOf(project: number, subject: string): string[] {
    const stored = this.#find(project, subject).map(({ id }) => id);
    const made = this.#made.flatMap((key) =>
      key.project === project && key.subject === subject ? [key.id] : [],
    );
    return [...stored, ...made].filter((id) => !this.#isErased(id));
  }

  flush(): void {
    if (this.#made.length === 0) return;
    const { begin, insert, commit } = this.#statements;
    try {
      begin.run();
      for (const { project, id, subject, secret } of this.#made) insert.run(project, id, subject, secret);
      commit.run();
      this.#made = [];
    } finally {
      if (this.#subjects.inTransaction) this.#subjects.exec('ROLLBACK');
    }
  }

  settle(): void {
    this.used.clear();
    if (this.#held.size > heldKeys) this.#held.clear();
  }

  forget(): void {
    this.#made = [];
    this.used.clear();
    this.#held.clear();
  }

  release(): void {
    this.#held.clear();
  }

  #keyOf(project: number, subject: string): SubjectKey {
    const name = `${project}/${subject}`;
    const held = this.#held.get(name);
    if (held !== undefined && !this.#isErased(held.id)) return held;
    const found = this.#find(project, subject).find(({ id }) => !this.#isErased(id));
    const key = found ?? newSubjectKey();
    if (found === undefined) this.#made.push({ ...key, project, subject });
    this.#held.set(name, key);
    return key;
  }
}

const none: readonly SubjectKey[] = [];

/** Used without a master key. */
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

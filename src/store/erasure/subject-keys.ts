/**
 * Keys of subjects (docs/how-to/encrypt-bodies.md): destroying one makes all bodies about its subject
 * unreadable.
 * Each subject of a project gets one key with its first sealed body: 32 random bytes under a random id.
 * Bodies name the ids and do not open without the secrets (`body-seal.ts`). Destroying a secret therefore
 * destroys every copy of those bodies, including backups.
 * The keys are stored apart from the log: in a second file on SQLite, in a second table on PostgreSQL. A
 * destroyed key stays as a row of zeros, which distinguishes it from a lost key. The log's table `erased_key`
 * names the erasure that destroyed it, in the transaction of its leaf.
 * Proven by `test/store/erasure/subject-keys.test.ts`, `test/store/sqlite/effects/old-keys.test.ts`,
 * `test/store/sqlite/effects/faults-subjects.long.test.ts` and
 * `test/store/postgres/effects/subject-keys.test.ts`.
 */
import { randomBytes } from 'node:crypto';
import { GovError } from '../../contract/problems.ts';

export interface SubjectKey {
  /** 16 characters of base64url. */
  readonly id: string;
  /** 32 bytes. */
  readonly secret: Uint8Array;
}

const idBytes = 12;
export const secretBytes = 32;

/** Overwrites a destroyed secret; it has the same length, so it replaces every byte. */
export const noSecret: Uint8Array = Buffer.alloc(secretBytes);
/** Overwrites the subject of a destroyed key; as long as a keyed hash. */
export const noSubject = '0'.repeat(32);

export const newSubjectKey = (): SubjectKey => ({
  id: randomBytes(idBytes).toString('base64url'),
  secret: randomBytes(secretBytes),
});

/** Keys in the order in which bodies name them. */
export const inOrder = (keys: readonly SubjectKey[]): SubjectKey[] =>
  keys.toSorted((one, other) => (one.id < other.id ? -1 : 1));

/** Ids in the form that a body stores; the empty text for no keys. */
export const idsText = (keys: readonly SubjectKey[]): string =>
  keys.length === 1 ? (keys[0]?.id ?? '') : keys.map(({ id }) => id).join(',');

/** The inverse of `idsText`. */
export const idsOf = (text: string | null): string[] => (text === null || text === '' ? [] : text.split(','));

/**
 * `absent`: the body names a key that the file or table lacks. The file is older than the body, or the key is
 * lost. It may come back.
 */
export type KeyState = 'there' | 'destroyed' | 'absent';

/** The rows of one project that decide about the end of a key. */
export interface SubjectKeyRows {
  /** Ids of a subject's keys: one or none. A crash can leave unused ones. */
  subjectKeys(subject: string): readonly string[];
  keyState(keyId: string): KeyState;
  /** Whether a sealed body about the subject is stored, or about to be stored. */
  hasSealed(subject: string): boolean;
  /** Key ids of the erased bodies about the subject whose `isOwed` was true. */
  owedOf(subject: string): readonly (readonly string[])[];
  /**
   * Destroys keys once the transaction is durable, or when they come back. From here on new bodies get other
   * keys.
   */
  destroyKeys(subject: string, keyIds: readonly string[], leaf: number): void;
}

/**
 * Whether a body would open if its missing key came back. An erasure that destroys no key then keeps the ids,
 * for a later one that destroys it.
 */
export function isOwed(rows: Pick<SubjectKeyRows, 'keyState'>, keyIds: readonly string[]): boolean {
  const states = new Set(keyIds.map((id) => rows.keyState(id)));
  return states.has('absent') && !states.has('destroyed');
}

/**
 * Destroys the key of a subject after an erasure of its last bodies. `named`: the key ids of each of these
 * bodies. Throws CONFLICT if a body does not depend on the key, or if the subject has other bodies. The
 * erasure would otherwise record something untrue, or destroy bodies that it does not name.
 */
export function destroySubjectKey(
  rows: SubjectKeyRows,
  { subject, leaf, named }: { subject: string; leaf: number; named: readonly (readonly string[])[] },
): void {
  const bodies = [...named, ...rows.owedOf(subject)];
  const ids = new Set(rows.subjectKeys(subject));
  const dependsOnThem = (of: readonly string[]): boolean => of.some((id) => ids.has(id));
  // the log is older than the keys: name the keys destroyed since then again
  for (const id of bodies.flat()) if (rows.keyState(id) === 'destroyed') ids.add(id);
  // the log is newer than the keys: if a body has exactly one absent key and no known one, that key is the
  // subject's
  for (const body of bodies.filter((each) => !dependsOnThem(each))) {
    const [absent, ...others] = body.filter((id) => rows.keyState(id) === 'absent');
    if (absent !== undefined && others.length === 0) ids.add(absent);
  }
  const isTrue = ids.size > 0 && bodies.every(dependsOnThem);
  if (!isTrue || rows.hasSealed(subject)) {
    throw new GovError(
      'CONFLICT',
      'expected the last values about a subject, all sealed with its key, got others too; repeat the erasure',
      { transient: true },
    );
  }
  rows.destroyKeys(subject, [...ids], leaf);
}

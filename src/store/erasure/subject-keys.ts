/**
 * Keys of subjects (docs/how-to/encrypt-bodies.md): each subject of a project has one, of 32 random bytes under a random id, from the
 * first body about it on that is sealed. Bodies name the ids and cannot be opened without the secrets (`body-seal.ts`), so
 * destroying a secret takes every copy of those bodies with it, wherever it is. They are kept apart from the log: on
 * SQLite in a file of their own, on PostgreSQL in a table of its own. A destroyed key stays as a row of zeros, which tells
 * it from one that was lost; which erasure destroyed it the log's table `erased_key` says, in the transaction of its leaf.
 * Proven by `test/store/erasure/subject-keys.test.ts`, `test/store/sqlite/effects/old-keys.test.ts`, `test/store/sqlite/effects/faults-subjects.long.test.ts` and `test/store/postgres/effects/subject-keys.test.ts`.
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

/** What stands in the place of a secret that is destroyed: as long, so that it is written over it. */
export const noSecret: Uint8Array = Buffer.alloc(secretBytes);
/** And of its subject: as long as a keyed hash. */
export const noSubject = '0'.repeat(32);

export const newSubjectKey = (): SubjectKey => ({
  id: randomBytes(idBytes).toString('base64url'),
  secret: randomBytes(secretBytes),
});

/** Keys in the order in which bodies name them. */
export const inOrder = (keys: readonly SubjectKey[]): SubjectKey[] =>
  keys.toSorted((one, other) => (one.id < other.id ? -1 : 1));

/** Ids as a body names them; of none the empty text. */
export const idsText = (keys: readonly SubjectKey[]): string =>
  keys.length === 1 ? (keys[0]?.id ?? '') : keys.map(({ id }) => id).join(',');

/** Back from there. */
export const idsOf = (text: string | null): string[] => (text === null || text === '' ? [] : text.split(','));

/** `absent`: of a file or table of keys that is older than the body that names it, or was lost; it may come back. */
export type KeyState = 'there' | 'destroyed' | 'absent';

/** The rows of an engine that the end of a key is judged by, of one project. */
export interface SubjectKeyRows {
  /** Ids of the keys of a subject: one, or none; after a crash there may be unused ones. */
  subjectKeys(subject: string): readonly string[];
  keyState(keyId: string): KeyState;
  /** Whether a body about the subject is sealed, stored or about to be stored. */
  hasSealed(subject: string): boolean;
  /** Ids of the keys of bodies about the subject that an erasure took while `isOwed` held of them. */
  owedOf(subject: string): readonly (readonly string[])[];
  /** Destroys keys, once the transaction is durable, or when they come back; new bodies get others from here on. */
  destroyKeys(subject: string, keyIds: readonly string[], leaf: number): void;
}

/**
 * Whether a body that does not open would, were a key of it put back: then an erasure that destroys no key leaves the ids,
 * for the one that does.
 */
export function isOwed(rows: Pick<SubjectKeyRows, 'keyState'>, keyIds: readonly string[]): boolean {
  const states = new Set(keyIds.map((id) => rows.keyState(id)));
  return states.has('absent') && !states.has('destroyed');
}

/**
 * Destroys the key of a subject whose last bodies an erasure took. `named`: ids of the keys that each of them was sealed
 * with. CONFLICT where one of them does not depend on the key, or the subject has others: then the erasure would
 * say what is not so, or take what it does not name.
 */
export function destroySubjectKey(
  rows: SubjectKeyRows,
  { subject, leaf, named }: { subject: string; leaf: number; named: readonly (readonly string[])[] },
): void {
  const bodies = [...named, ...rows.owedOf(subject)];
  const ids = new Set(rows.subjectKeys(subject));
  const dependsOnThem = (of: readonly string[]): boolean => of.some((id) => ids.has(id));
  // of a log that is older than the keys: what was destroyed since is named anew
  for (const id of bodies.flat()) if (rows.keyState(id) === 'destroyed') ids.add(id);
  // of a log that is newer: a body that has none of its keys so far has one of the subject, so the only one that is absent
  for (const of of bodies.filter((each) => !dependsOnThem(each))) {
    const [absent, ...others] = of.filter((id) => rows.keyState(id) === 'absent');
    if (absent !== undefined && others.length === 0) ids.add(absent);
  }
  const isTrue = ids.size > 0 && bodies.every(dependsOnThem);
  if (!isTrue || rows.hasSealed(subject)) {
    throw new GovError(
      'CONFLICT',
      'expected the last values about a subject, sealed with its key; it has others by now: repeat the erasure',
    );
  }
  rows.destroyKeys(subject, [...ids], leaf);
}

/**
 * `subjects.db`: the keys of subjects (`src/store/erasure/subject-keys.ts`), in a file of their own, so that copies of the log do not
 * hold them. A secret is destroyed by writing zeros over it where it stands: rows are only ever added at the end and
 * changed in place, so no page holds a second copy of one, and the write-ahead log is cut at once. The log remembers which
 * file it belongs to; a start without that file is refused, since all about subjects would be unreadable.
 * Proven by `test/store/erasure/subject-keys.test.ts`.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { GovError } from '../../contract/problems.ts';
import { noSecret, noSubject, secretBytes, type KeyState, type SubjectKey } from '../erasure/subject-keys.ts';
import { connect, type Connection, type Value } from './connection.ts';
import { cutLog } from './cut.ts';
import { opening } from './faults.ts';
import { migrate } from './migrate.ts';
import { makePrivate } from './paths.ts';
import type { Migration } from './schema/tables.ts';
import { preparer, type Prepare } from './statement.ts';

/** 'govs' */
const applicationId = 0x676f7673;

const zeros = `zeroblob(${secretBytes})`;

const migrations: readonly Migration[] = [
  {
    version: 1,
    sql: `
CREATE TABLE file (one INTEGER PRIMARY KEY CHECK (one = 1), file_id TEXT NOT NULL) STRICT;
CREATE TABLE subject_key (
  no INTEGER PRIMARY KEY,
  project INTEGER NOT NULL,
  key_id TEXT NOT NULL UNIQUE,
  subject TEXT NOT NULL,
  secret BLOB NOT NULL CHECK (length(secret) = ${secretBytes})
) STRICT;
CREATE INDEX subject_key_subject ON subject_key (project, subject);
CREATE TRIGGER subject_key_update BEFORE UPDATE ON subject_key
WHEN NEW.secret <> ${zeros} OR NEW.subject <> '${noSubject}' OR NEW.no <> OLD.no OR NEW.project <> OLD.project
  OR NEW.key_id <> OLD.key_id
BEGIN SELECT RAISE(ABORT, 'a subject key is destroyed, and nothing else of it changes'); END;
CREATE TRIGGER subject_key_delete BEFORE DELETE ON subject_key
BEGIN SELECT RAISE(ABORT, 'subject_key is append-only'); END;
`,
  },
];

/** Opens the file, which is made where it is absent. Throws as `connect`. */
export function openSubjects(path: string, options: { readonly?: boolean } = {}): Connection {
  const { readonly = false } = options;
  if (!readonly) makePrivate(path);
  return opening(path, () => {
    const db = connect(path, { applicationId, readonly, cacheKiB: 2048 });
    try {
      if (!readonly) {
        migrate(db, migrations);
        db.pragma('secure_delete = 1');
        db.pragma('wal_autocheckpoint = 256'); // keys are made seldom, so nobody copies on purpose
      }
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** An empty one in memory, for checks. */
export function subjectsInMemory(): Connection {
  const db = new Database(':memory:');
  for (const { sql } of migrations) db.exec(sql);
  return db;
}

/** Opens it to read only; null where it is not there, or empty: the next start begins it anew. */
export const readSubjects = (path: string): Connection | null =>
  (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0 ? openSubjects(path, { readonly: true }) : null;

/**
 * The keys of a log that is about to be written: opened, held against what the log says, and whatever an erasure
 * destroyed before a crash, or in a copy that is older, destroyed. STORAGE_FAULT where the file is not that of the log.
 */
export function openOwnSubjects(path: string, main: Connection): Connection {
  const known = fileOf(main);
  if (known !== null && !existsSync(path)) throw otherFile(path, 'none');
  const subjects = openSubjects(path);
  try {
    const make = subjects.prepare<Value[]>(
      'INSERT INTO file (one, file_id) VALUES (1, ?) ON CONFLICT DO NOTHING',
    );
    make.run(known ?? randomBytes(16).toString('base64url'));
    const own = idOf(subjects);
    if (known === null) main.prepare<Value[]>('INSERT INTO key_file (one, file_id) VALUES (1, ?)').run(own);
    else if (known !== own) throw otherFile(path, 'that of another one');
    destroyAgain(main, subjects);
    return subjects;
  } catch (error) {
    subjects.close();
    throw error;
  }
}

/** The id of the file that a log has its keys in; null where it was never given a master key. */
export const fileOf = (main: Connection): string | null =>
  main.prepare<Value[], string>('SELECT file_id FROM key_file').pluck().get() ?? null;

const idOf = (subjects: Connection): string =>
  subjects.prepare<Value[], string>('SELECT file_id FROM file').pluck().get() ?? '';

/** Whether the keys of a log are not there. */
export const lacksSubjects = (main: Connection, path: string): boolean =>
  fileOf(main) !== null && !existsSync(path);

/** STORAGE_FAULT where `openOwnSubjects` would refuse; reads only. */
export function refuseOtherSubjects(main: Connection, path: string): void {
  const known = fileOf(main);
  if (known === null) return;
  if (!existsSync(path)) throw otherFile(path, 'none');
  if (statSync(path).size === 0) return; // begun anew
  const subjects = openSubjects(path, { readonly: true });
  try {
    if (idOf(subjects) !== known) throw otherFile(path, 'that of another one');
  } finally {
    subjects.close();
  }
}

const otherFile = (path: string, got: string): GovError =>
  new GovError(
    'STORAGE_FAULT',
    `expected the keys of subjects of this log in ${path}, got ${got}; put the newest copy of subjects.db there, which ` +
      'backups hold only if they were made with --with-keys. Where it is lost for good, so is what it sealed: an empty ' +
      'file there serves on without it',
  );

/**
 * Destroys what the log says was destroyed: the end of a crash, or of an older copy of the file. False where somebody reads
 * the file, which then has the bytes until its write-ahead log is cut.
 */
export function destroyAgain(main: Connection, subjects: Connection): boolean {
  const erased = main.prepare<Value[], string>('SELECT DISTINCT key_id FROM erased_key').pluck();
  const find = keyReader(subjects);
  const left = erased.all().filter((id) => find(id) !== null);
  const destroyer = keyDestroyer(subjects, preparer(subjects, undefined));
  if (left.length > 0) {
    destroyer.begin(left);
    destroyer.commit();
  }
  return cutLog(subjects);
}

interface KeyRow {
  readonly key_id: string;
  readonly secret: Buffer;
}

/** A key by its id; null where it is destroyed, or not there. Cost: 4 µs. */
export function keyReader(subjects: Connection): (keyId: string) => SubjectKey | null {
  const find = subjects.prepare<Value[], Buffer>('SELECT secret FROM subject_key WHERE key_id = ?').pluck();
  return (id) => {
    const secret = find.get(id);
    return secret === undefined || isDestroyed(secret) ? null : { id, secret };
  };
}

export function keyStateReader(subjects: Connection): (keyId: string) => KeyState {
  const find = subjects.prepare<Value[], Buffer>('SELECT secret FROM subject_key WHERE key_id = ?').pluck();
  return (id) => {
    const secret = find.get(id);
    if (secret === undefined) return 'absent';
    return isDestroyed(secret) ? 'destroyed' : 'there';
  };
}

const isDestroyed = (secret: Buffer): boolean => secret.equals(noSecret);

/** The keys of a subject that are not destroyed, the newest first: one, beside what a crash left unused. */
export function subjectReader(subjects: Connection): (project: number, subject: string) => SubjectKey[] {
  const find = subjects.prepare<Value[], KeyRow>(
    'SELECT key_id, secret FROM subject_key WHERE project = ? AND subject = ? ORDER BY no DESC',
  );
  return (project, subject) =>
    find
      .all(project, subject)
      .filter(({ secret }) => !isDestroyed(secret))
      .map(({ key_id: id, secret }) => ({ id, secret }));
}

/** A transaction that is open until the log says, durably, that the keys are destroyed: nobody else holds the file then. */
export interface KeyDestroyer {
  /** Writes zeros over secrets; leaves nothing behind where it throws. */
  begin(keyIds: readonly string[]): void;
  /** Durably. A crash before it returns leaves them to the next start. */
  commit(): void;
  /** The log does not say so. */
  undo(): void;
}

export function keyDestroyer(subjects: Connection, prepare: Prepare): KeyDestroyer {
  const destroy = prepare(
    'destroy subject key',
    `UPDATE subject_key SET secret = ${zeros}, subject = '${noSubject}' WHERE key_id = ?`,
  );
  const begin = prepare('begin subject keys', 'BEGIN IMMEDIATE');
  const commit = prepare('commit subject keys', 'COMMIT');
  const undo = (): void => {
    if (subjects.inTransaction) subjects.exec('ROLLBACK');
  };
  return {
    begin: (keyIds) => {
      try {
        begin.run();
        for (const id of keyIds) destroy.run(id);
      } catch (error) {
        undo();
        throw error;
      }
    },
    commit: () => {
      try {
        commit.run();
      } finally {
        undo();
      }
    },
    undo,
  };
}

/**
 * `subjects.db`: the keys of subjects (`src/store/erasure/subject-keys.ts`), in a separate file, so that
 * copies of the log lack them.
 * Destroying a secret overwrites it in place with zeros. Rows are only added at the end and changed in place,
 * so no page has a second copy of a secret, and the write-ahead log is cut at once. The log stores the id of
 * its key file. A start without that file fails, since all bodies about subjects would be unreadable.
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

/** Opens the file and creates it if it is missing. Throws like `connect`. */
export function openSubjects(path: string, options: { readonly?: boolean } = {}): Connection {
  const { readonly = false } = options;
  if (!readonly) makePrivate(path);
  return opening(path, () => {
    const db = connect(path, { applicationId, readonly, cacheKiB: 2048 });
    try {
      if (!readonly) {
        migrate(db, migrations);
        db.pragma('secure_delete = 1');
        db.pragma('wal_autocheckpoint = 256'); // keys are rare, so no code starts checkpoints
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

/** Opens the file read-only. Null if it is missing or empty; the next start then fills it. */
export const readSubjects = (path: string): Connection | null =>
  (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0 ? openSubjects(path, { readonly: true }) : null;

/**
 * Opens the keys of a log for writing and compares the file's id with the log. Destroys keys that an erasure
 * destroyed before a crash, or that an older copy of the file still has. Throws STORAGE_FAULT if the file
 * belongs to another log.
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
    else if (known !== own) throw otherFile(path, 'those of another log');
    destroyAgain(main, subjects);
    return subjects;
  } catch (error) {
    subjects.close();
    throw error;
  }
}

/** The id of the key file of a log. Null if the log never had a master key. */
export const fileOf = (main: Connection): string | null =>
  main.prepare<Value[], string>('SELECT file_id FROM key_file').pluck().get() ?? null;

const idOf = (subjects: Connection): string =>
  subjects.prepare<Value[], string>('SELECT file_id FROM file').pluck().get() ?? '';

/** Whether the key file of a log is missing. */
export const lacksSubjects = (main: Connection, path: string): boolean =>
  fileOf(main) !== null && !existsSync(path);

/** Throws STORAGE_FAULT if `openOwnSubjects` would. Reads only. */
export function refuseOtherSubjects(main: Connection, path: string): void {
  const known = fileOf(main);
  if (known === null) return;
  if (!existsSync(path)) throw otherFile(path, 'none');
  if (statSync(path).size === 0) return; // a new file
  const subjects = openSubjects(path, { readonly: true });
  try {
    if (idOf(subjects) !== known) throw otherFile(path, 'those of another log');
  } finally {
    subjects.close();
  }
}

const otherFile = (path: string, got: string): GovError =>
  new GovError(
    'STORAGE_FAULT',
    `expected the keys of subjects of this log in ${path}, got ${got}; put the newest copy of subjects.db there; ` +
      'only backups made with --with-keys contain it. If it is permanently lost, so are the bodies that it sealed: ' +
      'create an empty file there to start without them',
  );

/**
 * Destroys the keys that the log marks as destroyed, after a crash or in an older copy of the file. False if
 * a reader uses the file: its bytes then stay until the write-ahead log is cut.
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

/** Finds a key by its id. Null if it is destroyed or missing. Cost: 4 µs. */
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

/**
 * The keys of a subject that are not destroyed, newest first. There is one, plus unused ones that a crash
 * left.
 */
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

/**
 * A transaction that stays open until the log durably marks the keys as destroyed. No other process can hold
 * the file meanwhile.
 */
export interface KeyDestroyer {
  /** Overwrites secrets with zeros. If it throws, nothing has changed. */
  begin(keyIds: readonly string[]): void;
  /** Durable when it returns. After a crash before that, the next start destroys the keys. */
  commit(): void;
  /** Call it if the log does not mark the keys as destroyed. */
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

/**
 * Copies the keys of subjects with a log, so that both fit despite records and erasures meanwhile.
 * Proven by `test/plane/data/backup-subjects.test.ts`.
 */
import { connect, type Connection, type Value } from './connection.ts';
import { storeFiles } from './paths.ts';
import { mainApplicationId } from './schema/tables.ts';
import { snapshotOf } from './snapshot.ts';
import { destroyAgain, lacksSubjects, openSubjects } from './subjects.ts';

/**
 * Snapshots of the log and its keys, without an erasure in between. Every key that seals a body of the log is
 * present, except those that the log itself erased. The caller closes both.
 */
export function snapshotsOf(dataDir: string): { readonly main: Connection; readonly subjects: Connection } {
  const files = storeFiles(dataDir);
  for (;;) {
    const main = snapshotOf(files.main);
    const subjects = snapshotOf(files.subjects);
    // a key is destroyed after the commit of its erasure, and created before the first body that it seals
    const now = snapshotOf(files.main);
    const isBetween = erasedIn(now) !== erasedIn(main);
    now.close();
    if (!isBetween) return { main, subjects };
    for (const db of [subjects, main]) db.close();
  }
}

const erasedIn = (main: Connection): number =>
  main.prepare<Value[], number>('SELECT count(*) FROM erased_key').pluck().get() ?? 0;

/**
 * Destroys the keys in a copy that its log marks as destroyed. A stop or a copy between the two steps leaves
 * such keys.
 */
export const destroyInCopy = (dataDir: string): void =>
  inCopy(dataDir, (log, path) => {
    const subjects = openSubjects(path);
    try {
      destroyAgain(log, subjects);
    } finally {
      subjects.close();
    }
  });

/** Whether the keys of a log that no process serves are missing. */
export const hasNoSubjects = (dataDir: string): boolean => inCopy(dataDir, lacksSubjects);

function inCopy<Result>(dataDir: string, look: (log: Connection, path: string) => Result): Result {
  const { main, subjects } = storeFiles(dataDir);
  const log = connect(main, { applicationId: mainApplicationId });
  try {
    return look(log, subjects);
  } finally {
    log.close();
  }
}

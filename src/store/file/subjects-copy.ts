/**
 * The keys of subjects beside a copy of the log, so that the two fit, whatever is recorded and erased meanwhile.
 * Proven by `test/plane/data/backup-subjects.test.ts`.
 */
import { connect, type Connection, type Value } from './connection.ts';
import { storeFiles } from './paths.ts';
import { mainApplicationId } from './schema/tables.ts';
import { snapshotOf } from './snapshot.ts';
import { destroyAgain, lacksSubjects, openSubjects } from './subjects.ts';

/**
 * The log and its keys, each as of one moment, and no erasure between the two: every key that a body of the log is sealed
 * with is there, but for what the log itself has erased. Both are to be closed.
 */
export function snapshotsOf(dataDir: string): { readonly main: Connection; readonly subjects: Connection } {
  const files = storeFiles(dataDir);
  for (;;) {
    const main = snapshotOf(files.main);
    const subjects = snapshotOf(files.subjects);
    // a key is destroyed after its erasure is in the log, and made before anything that it seals
    const now = snapshotOf(files.main);
    const isBetween = erasedIn(now) !== erasedIn(main);
    now.close();
    if (!isBetween) return { main, subjects };
    for (const db of [subjects, main]) db.close();
  }
}

const erasedIn = (main: Connection): number =>
  main.prepare<Value[], number>('SELECT count(*) FROM erased_key').pluck().get() ?? 0;

/** Destroys in a copy what its log says is destroyed: a process may have stopped, or been copied, in between. */
export const destroyInCopy = (dataDir: string): void =>
  inCopy(dataDir, (log, path) => {
    const subjects = openSubjects(path);
    try {
      destroyAgain(log, subjects);
    } finally {
      subjects.close();
    }
  });

/** Whether the keys of a log that nobody serves have to be put beside it. */
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

/**
 * Upkeep between commits: destroys keys whose erasure is durable, shortens the write-ahead log, removes old
 * values. A reader or a full disk delays a task until a later try, the stop, or the next start. A task counts
 * as done only after it succeeded, so a crash repeats it.
 * Proven by `test/store/sqlite/readers.long.test.ts`.
 */
import type { Connection } from '../../file/connection.ts';
import { cutLog, succeeds, within } from '../../file/cut.ts';
import { isPassing, troubleOf } from '../../file/faults.ts';
import { rewrite, type DueRewrite } from './rewrite.ts';
import type { CommitSequencer } from '../write/sequencer.ts';
import type { WalKeeper } from './wal.ts';
import type { Writer } from '../write/writer.ts';

export interface Upkeep {
  /**
   * Called after each commit, after a start and when space has returned; repeats after a second while work is
   * left.
   */
  run(): void;
  stop(): void;
  /**
   * Finishes the upkeep unless writing has stopped permanently. Returns whether it rewrote the database.
   * Waits some seconds for readers, and reports the removed values that stay in the files because of them.
   */
  finish(): Promise<boolean>;
}

export interface UpkeepParts {
  readonly db: Connection;
  readonly writer: Writer;
  readonly wal: WalKeeper;
  readonly sequencer: Pick<CommitSequencer, 'destroyKeys'>;
  readonly due: DueRewrite;
  readonly warn: (text: string) => void;
}

export function upkeepOf({ db, writer, wal, sequencer, due, warn }: UpkeepParts): Upkeep {
  const work = (): boolean => {
    const { trouble } = writer;
    if (trouble?.code === 'STORAGE_FAULT') return true;
    try {
      const keysAreGone = sequencer.destroyKeys();
      return (trouble !== null || wal.committed()) && keysAreGone;
    } catch (error) {
      const found = troubleOf(error);
      if (!isPassing(found) && trouble === null) writer.report(error);
      return !isPassing(found) && found !== 'full';
    }
  };
  const finish = async (): Promise<boolean> => {
    if (writer.trouble?.code === 'STORAGE_FAULT') return false;
    if (!(await within(() => sequencer.destroyKeys()))) warn(left.keys);
    if (writer.trouble !== null) return false;
    const cut = () => within(() => cutLog(db));
    // with a reader, the write-ahead log would hold the whole database twice
    const isWritten = (await cut()) && succeeds(() => rewrite(db, due.removed));
    if (isWritten && (await cut())) return true;
    if (due.removed !== null) warn(left.copies);
    return false;
  };
  return { ...untilDone(work, () => warn(left.meanwhile)), finish };
}

/** Warnings for the operator. */
const left = {
  meanwhile:
    'erased values or destroyed keys are still in the files of the database: another program reads or locks them, or ' +
    'the disk is full; gov removes them as soon as that ends',
  keys:
    'destroyed keys of subjects are still in subjects.db or subjects.db-wal: another program reads or locks it, or the ' +
    'disk is full; the next start destroys them, or gov log compact',
  copies:
    'copies of erased or pruned values are still in gov.db or gov.db-wal: another program reads them, the disk is full, ' +
    'or the file is large; a later stop removes them, or gov log compact',
};

const againMs = 1000;
const lateMs = 30_000;

/**
 * Runs `work` on demand, and again every second while it returns false. Calls `late` once that lasts 30 s.
 */
function untilDone(work: () => boolean, late: () => void): { run(): void; stop(): void } {
  let again: NodeJS.Timeout | undefined;
  let sinceMs: number | null = null;
  const stop = (): void => clearTimeout(again);
  const run = (): void => {
    stop();
    if (work()) {
      sinceMs = null;
      return;
    }
    sinceMs ??= performance.now();
    if (performance.now() - sinceMs > lateMs) {
      late();
      sinceMs = Infinity; // report once
    }
    again = setTimeout(run, againMs).unref();
  };
  return { run, stop };
}

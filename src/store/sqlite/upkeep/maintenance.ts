/**
 * What a store does beside its commits: destroys keys whose erasure is durable, keeps the write-ahead log short, takes what
 * was removed out of its files. A reader or a full disk puts it off, until a later try, the stop, or the next start; nothing
 * that was not done is taken as done. Proven by `test/store/sqlite/readers.test.ts`.
 */
import type { Connection } from '../../file/connection.ts';
import { cutLog, succeeds, within } from '../../file/cut.ts';
import { troubleOf } from '../../file/faults.ts';
import { rewrite, type DueRewrite } from './rewrite.ts';
import type { CommitSequencer } from '../write/sequencer.ts';
import type { WalKeeper } from './wal.ts';
import type { Writer } from '../write/writer.ts';

export interface Upkeep {
  /** After each commit, after a start and when space has returned; a second later again where something is left. */
  run(): void;
  stop(): void;
  /**
   * The last of it, where writing has not stopped for good: whether the database was written anew. Waits some seconds for
   * readers, and tells what they kept from being removed.
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
      if (found !== 'busy' && trouble === null) writer.report(error);
      return found !== 'busy' && found !== 'full';
    }
  };
  const finish = async (): Promise<boolean> => {
    if (writer.trouble?.code === 'STORAGE_FAULT') return false;
    if (!(await within(() => sequencer.destroyKeys()))) warn(left.keys);
    if (writer.trouble !== null) return false;
    const cut = () => within(() => cutLog(db));
    // beside a reader all of it would be in the log twice
    const isWritten = (await cut()) && succeeds(() => rewrite(db, due.removed));
    if (isWritten && (await cut())) return true;
    if (due.removed !== null) warn(left.copies);
    return false;
  };
  return { ...untilDone(work, () => warn(left.meanwhile)), finish };
}

/** What an operator is told. */
const left = {
  meanwhile:
    'what was erased or destroyed is in the files of the database still: another program reads or holds them, or the ' +
    'disk is full; it goes as soon as that ends',
  keys:
    'keys of subjects that were destroyed are in subjects.db or subjects.db-wal still: another program reads or holds ' +
    'it, or the disk is full; the next start destroys them, or gov log compact',
  copies:
    'copies of what was erased or pruned are in gov.db or gov.db-wal still: another program reads them, the disk is full, ' +
    'or the file is large; the next stop that can removes them, or gov log compact',
};

const againMs = 1000;
const lateMs = 30_000;

/** Runs `work` when it is told to, and a second later again as long as it answers false; `late` when that takes long. */
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
      sinceMs = Infinity; // told once
    }
    again = setTimeout(run, againMs).unref();
  };
  return { run, stop };
}

/**
 * The spool of an `EventRecorder` (`spool.ts`), whose events a later recorder or `gov events push --spool --base-url` sends.
 * The build for browsers and edge runtimes uses `web/disk.ts`. Tested by `test/client/recorder.test.ts`.
 */
import { randomUUID } from 'node:crypto';
import { type KeeperOptions, ReceiptKeeper } from './keeper.ts';
import type { Batch } from './batch.ts';
import { SpoolQueue } from './spool-queue.ts';
import { Spool } from './spool.ts';
import type { BatchQueue } from './queue.ts';

/** Where a recorder keeps its batches. */
export interface Disk {
  readonly queue: BatchQueue;
  /** Events of earlier processes. */
  readonly found: number;
  /** Bytes of the batches that wait. */
  readonly waitingBytes: () => number;
  /** Returns after the batch is on disk. Throws the system's error. */
  readonly save: (batch: Batch) => void;
  /** Ends a check of receipts that is running. */
  readonly interrupt: () => void;
  /** Checks receipts a last time, for at most `checkMs`, and releases the directory. */
  readonly close: (checkMs: number) => Promise<void>;
}

export interface DiskOptions extends Pick<KeeperOptions, 'client' | 'tell'> {
  /** Name of the service. */
  readonly target: string;
  /** Called with the number of events that the log lost and that were queued again. */
  readonly resent: (events: number) => void;
}

/** Opens a directory for this process alone. Errors: `GovSpoolError`, or the system's. */
export function openDisk(directory: string, { target, client, tell, resent }: DiskOptions): Disk {
  const spool = Spool.open(directory);
  try {
    spool.requireTarget(target);
    const queue = new SpoolQueue(spool, 1);
    const found = queue.waitingEvents;
    const begin = (): void =>
      spool.begin({ id: randomUUID(), target, sources: ['recorder'], position: { source: 0, lanes: [-1] } });
    begin();
    let isBroken = false;
    const write = (append: () => void): void => {
      // a failed write closes its file for further records: the next batch begins another one
      if (isBroken) begin();
      isBroken = true;
      append();
      isBroken = false;
    };
    const save = (batch: Batch): void => write(() => queue.append(batch));
    const resend = (batch: Batch): void => {
      write(() => queue.again(batch));
      resent(batch.events.length);
    };
    const keeper = new ReceiptKeeper({ spool, target, client, now: Date.now, resend, tell });
    const close = async (checkMs: number): Promise<void> => {
      await keeper.close(checkMs);
      if (!isBroken) spool.end();
      spool.close();
    };
    const interrupt = (): void => keeper.interrupt();
    return { queue, found, waitingBytes: () => queue.waitingBytes, save, interrupt, close };
  } catch (failure) {
    spool.close();
    throw failure;
  }
}

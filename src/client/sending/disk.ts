/**
 * The spool of an `EventRecorder` (`spool.ts`), whose events a later recorder or `gov events push --spool --base-url` sends.
 * The build for browsers and edge runtimes uses `web/disk.ts`. Tested by `test/client/recorder.test.ts`.
 */
import { randomUUID } from 'node:crypto';
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
  readonly close: () => void;
}

/** Opens a directory for this process alone. Errors: `GovSpoolError`, or the system's. */
export function openDisk(directory: string, target: string): Disk {
  const spool = Spool.open(directory);
  try {
    spool.requireTarget(target);
    const queue = new SpoolQueue(spool, 1);
    const found = queue.waitingEvents;
    const begin = (): void =>
      spool.begin({ id: randomUUID(), target, sources: ['recorder'], position: { source: 0, lanes: [-1] } });
    begin();
    let isBroken = false;
    const save = (batch: Batch): void => {
      // a failed write closes its file for further records: the next batch begins another one
      if (isBroken) begin();
      isBroken = true;
      queue.append(batch);
      isBroken = false;
    };
    const close = (): void => {
      if (!isBroken) spool.end();
      spool.close();
    };
    return { queue, found, waitingBytes: () => queue.waitingBytes, save, close };
  } catch (failure) {
    spool.close();
    throw failure;
  }
}

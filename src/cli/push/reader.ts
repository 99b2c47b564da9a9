/**
 * Reads the sources of a push, cuts them into batches and puts these into a queue. After a second without input from a
 * pipe, its events leave as a smaller batch. Tested by `test/cli/push/run.test.ts`.
 */
import type { Readable } from 'node:stream';
import { limits } from '../../contract/limits.ts';
import { Batcher, laneOf, type Batch, type BatcherOptions } from '../../client/sending/batch.ts';
import type { Sink } from '../../client/sending/deliver.ts';
import type { FileCounts } from './file-report.ts';
import type { PushProgress } from './progress.ts';
import type { PushedFile, PushedFiles, RecordState } from './pushed.ts';
import type { BatchQueue } from '../../client/sending/queue.ts';
import type { InputRecord, RefusedRecord } from './record.ts';
import { readImport } from './imports.ts';
import type { PushContext } from './context.ts';
import { drain, isPipe, readChunks, readRecords, type InputFormat, type InputSource } from './source.ts';
import type { Position } from '../../client/sending/spool.ts';

export interface ReadPlan {
  readonly format: InputFormat;
  /** Set for recordings. */
  readonly imports: PushContext | undefined;
  readonly batcher: BatcherOptions;
  /** End of the input that an earlier session has queued. */
  readonly position: Position | undefined;
  readonly stdin: Readable;
  readonly progress: Pick<PushProgress, 'bytes' | 'read'>;
  readonly refused: (source: string, record: RefusedRecord) => Promise<void>;
  /** Called after each source, with what it held. */
  readonly fileRead: (source: string, counts: FileCounts) => Promise<void>;
  /** What earlier pushes recorded of files, and the service that can confirm it. */
  readonly pushed: PushedFiles | undefined;
  readonly sink?: Pick<Sink, 'has'>;
  /** Called for standard input that cannot be read on, before the rest of it is dropped. */
  readonly refusedInput: (failure: unknown) => Promise<void>;
  /** Called with the number of events that the service has from before. */
  readonly known: (events: number) => void;
}

interface ReadRequest {
  readonly plan: ReadPlan;
  readonly queue: Pick<BatchQueue, 'put'>;
  readonly signal: AbortSignal;
  /** Fires when nothing more can be recorded. */
  readonly givenUp?: AbortSignal | undefined;
}

/**
 * Reads all sources in order. Throws an error of reading, or the signal's reason. It then drops partial batches of a file,
 * which can be read again, and queues those of a pipe.
 */
export async function readSources(sources: readonly InputSource[], reading: ReadRequest): Promise<void> {
  const from = reading.plan.position?.source ?? 0;
  for (const [index, source] of sources.entries()) {
    if (index >= from) await readSource(source, index, reading);
  }
}

async function readSource(source: InputSource, index: number, reading: ReadRequest): Promise<void> {
  const { plan } = reading;
  const batcher = new Batcher({ index, name: source.name }, plan.batcher);
  const filler = new Filler(batcher, reading.queue);
  const fromPipe = isPipe(source);
  const timer = fromPipe ? setInterval(() => filler.linger(), limits.pushLingerMs / 2) : undefined;
  try {
    await fill(source, index, { ...reading, filler });
  } catch (failure) {
    if (fromPipe) await filler.flush();
    // an interrupted pipe may end in the middle of a record
    reading.signal.throwIfAborted();
    if (source.path === null) {
      await plan.refusedInput(failure);
      await drain(plan.stdin, reading.signal);
    }
    throw failure;
  } finally {
    clearInterval(timer);
  }
  await filler.flush();
  reading.signal.throwIfAborted();
  reading.givenUp?.throwIfAborted();
}

async function fill(
  source: InputSource,
  index: number,
  { plan, signal, givenUp, filler }: ReadRequest & { filler: Filler },
): Promise<void> {
  const file = await plan.pushed?.open(source, { index, sink: plan.sink ?? {}, signal });
  // a recording is read whole before its first event
  let importedBytes = 0;
  const chunks = readChunks(source, {
    stdin: plan.stdin,
    signal,
    givenUp,
    counted: (bytes) => {
      file?.read(bytes);
      if (plan.imports === undefined) plan.progress.bytes(bytes);
      else importedBytes += bytes;
    },
  });
  const records: AsyncIterable<InputRecord> =
    plan.imports === undefined
      ? readRecords(source, chunks, plan.format)
      : readImport(source, chunks, plan.imports);
  const queued = plan.position?.source === index ? plan.position.lanes : undefined;
  const sorter = new Sorter(file, filler);
  let position = -1;
  const counts = { fresh: 0, known: 0, refused: 0 };
  for await (const record of records) {
    if (!isPipe(source)) signal.throwIfAborted();
    if ('known' in record) {
      plan.known(record.known);
      counts.known += record.known;
      position += record.known;
      continue;
    }
    position += 1;
    const standing = await sorter.sort(record, position);
    if ('reason' in record) {
      // the signal, not the writer, cut the last record of a pipe
      if (signal.aborted) continue;
      plan.progress.read(1);
      counts.refused += 1;
      file?.mark(position, { accepted: false, eventId: null });
      if (queued === undefined || position > Math.min(...queued)) await plan.refused(source.name, record);
      continue;
    }
    const isQueued = queued !== undefined && position <= (queued[laneOf(record.event, queued.length)] ?? -1);
    if (isQueued) file?.mark(position, { accepted: true, eventId: null });
    else if (standing === 'known') plan.known(1);
    else {
      plan.progress.read(1);
      counts.fresh += 1;
      await filler.add(record, position);
    }
  }
  // a file that was read in parts was not read through the stream
  if (plan.imports !== undefined)
    plan.progress.bytes(importedBytes === 0 ? (source.until ?? source.size ?? 0) : importedBytes);
  await plan.fileRead(source.name, counts);
}

/**
 * Tells records that a file had before from new ones. Those that are tried again leave in the batches of the earlier push,
 * so that the service recognises batches that it has.
 */
class Sorter {
  readonly #file: PushedFile | undefined;
  readonly #filler: Pick<Filler, 'flush'>;
  #last: RecordState = 'known';

  constructor(file: PushedFile | undefined, filler: Pick<Filler, 'flush'>) {
    this.#file = file;
    this.#filler = filler;
  }

  async sort(record: Exclude<InputRecord, { known: number }>, position: number): Promise<RecordState> {
    if (this.#file === undefined) return 'new';
    const standing = this.#file.standing(position, 'text' in record ? record.text : undefined);
    if (standing !== this.#last && standing !== 'known') {
      if (this.#last !== 'known') await this.#filler.flush();
      this.#last = standing;
    }
    return standing;
  }
}

/** Puts batches into the queue one after another, also those that its timer flushes. */
class Filler {
  readonly #batcher: Batcher;
  readonly #queue: Pick<BatchQueue, 'put'>;
  #last: Promise<void> = Promise.resolve();
  #busy = false;
  #addedAt = 0;

  constructor(batcher: Batcher, queue: Pick<BatchQueue, 'put'>) {
    this.#batcher = batcher;
    this.#queue = queue;
  }

  async add(...record: Parameters<Batcher['add']>): Promise<void> {
    this.#addedAt = performance.now();
    const complete = this.#batcher.add(...record);
    // the timer may still be putting earlier batches
    if (complete.length > 0 || this.#busy) await this.#put(complete);
  }

  flush(): Promise<void> {
    return this.#put(this.#batcher.flush());
  }

  /** Sends events that have waited for a second. The next `put` throws a failure of this. */
  linger(): void {
    if (this.#busy || !this.#batcher.isPartial || performance.now() - this.#addedAt < limits.pushLingerMs)
      return;
    this.flush().catch(() => {});
  }

  #put(batches: readonly Batch[]): Promise<void> {
    this.#last = this.#putAfter(this.#last, batches);
    return this.#last;
  }

  async #putAfter(last: Promise<void>, batches: readonly Batch[]): Promise<void> {
    await last;
    this.#busy = true;
    for (const batch of batches) await this.#queue.put(batch);
    this.#busy = false;
  }
}

/**
 * The spool of `events push --spool`: a directory where batches wait until the service has acknowledged them.
 *
 *   NNNNNNNN.queue   a journal: its session, the batches of the session, then `ended` after the last input
 *   NNNNNNNN.acks    a journal: offsets of acknowledged batches, with their receipts, and which of these are released
 *   rejected.ndjson  events that the service rejected, with its reasons
 *   lock             the process that uses the spool
 *
 * `append` and `acknowledge` return after the disk has the record. A crash leaves, at each step: before `append` returns,
 * a torn record, which counts as never queued; after it, a batch that the next push sends; between the service's response
 * and the acknowledgement, a batch that is sent again under the same idempotency key; between the removal of a queue and
 * of its acks, acks without a queue, which the next opening removes. Tested by `test/client/sending/spool.test.ts`, and by
 * `test/cli/push/kill.long.test.ts`, which kills processes at random moments.
 */
import { appendFileSync, closeSync, existsSync, fsyncSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../../contract/limits.ts';
import type { BatchReceipt } from '../receipts/answered.ts';
import { GovSpoolError } from '../errors.ts';
import type { Batch } from './batch.ts';
import type { DeliveryResult } from './deliver.ts';
import { syncDirectory } from '../../files/durable.ts';
import { Journal, readEntry, readJournal, remove } from './journal.ts';
import { lockDirectory } from './directory-lock.ts';
import { makeFolder } from '../../files/make-folder.ts';

/** The part of a session's input that is in the spool. */
export interface Position {
  /** Index of the current source. All earlier sources are in the spool whole. */
  readonly source: number;
  /** Per lane: the position of that source's last record in the spool; −1 for none. */
  readonly lanes: readonly number[];
}

/** One call of the command. */
export interface SpoolSession {
  readonly id: string;
  /** Name of the service. Batches go to no other service. */
  readonly target: string;
  /** Absolute paths, `-` for standard input. */
  readonly sources: readonly string[];
  readonly position: Position;
}

type QueueRecord =
  | ({ readonly kind: 'session' } & SpoolSession)
  | ({ readonly kind: 'batch' } & Batch)
  | { readonly kind: 'ended' };

/** A batch that waits in the spool. */
export interface SpooledBatch {
  readonly segment: Segment;
  readonly offset: number;
  readonly length: number;
  readonly lane: number;
  readonly events: number;
}

/**
 * An acknowledged batch that stays until the log is proven to have kept it. A lost one was queued again, and stays as
 * evidence.
 */
export interface HeldBatch extends Omit<SpooledBatch, 'lane' | 'events'> {
  readonly receipts: readonly BatchReceipt[];
  readonly isLost: boolean;
}

type AckRecord =
  | { readonly offset: number; readonly receipts?: readonly BatchReceipt[] }
  | { readonly lost: number }
  | { readonly released: readonly number[] };

interface Segment {
  readonly path: string;
  readonly session: SpoolSession;
  /** Position of the session's input after this segment's last batch. */
  position: Position;
  ended: boolean;
  readonly unacknowledged: Set<number>;
  /** By offset. */
  readonly held: Map<number, HeldBatch>;
  acks: Journal | undefined;
}

const acksOf = (path: string): string => path.replace(/queue$/, 'acks');

export class Spool {
  readonly directory: string;
  readonly #release: () => void;
  readonly #segmentBytes: number;
  readonly #segments = new Map<string, Segment>();
  #active: { journal: Journal; segment: Segment; position: Position } | undefined;
  #next = 1;
  /** Of batches that receipts hold. */
  #heldBytes = 0;

  private constructor(
    directory: string,
    { release, segmentBytes }: { release: () => void; segmentBytes: number },
  ) {
    this.directory = directory;
    this.#release = release;
    this.#segmentBytes = segmentBytes;
  }

  /**
   * Opens a directory for this process alone, and creates it with mode 0700 if it is missing. Errors: SPOOL_IN_USE if another
   * process uses it, SPOOL_DAMAGED if a file is damaged. `segmentBytes`: size at which the next file begins.
   */
  static open(directory: string, segmentBytes: number = limits.pushSegmentBytes): Spool {
    makeFolder(directory, 0o700);
    const spool = new Spool(directory, { release: lockDirectory(directory), segmentBytes });
    try {
      spool.#load();
    } catch (failure) {
      spool.#release();
      throw failure;
    }
    return spool;
  }

  #load(): void {
    const names = readdirSync(this.directory).toSorted();
    for (const name of names.filter((name) => /^\d{8}\.acks$/.test(name))) {
      if (!names.includes(name.replace(/acks$/, 'queue'))) remove(join(this.directory, name));
    }
    for (const name of names.filter((name) => /^\d{8}\.queue$/.test(name))) {
      this.#next = Number.parseInt(name, 10) + 1;
      const path = join(this.directory, name);
      const segment = loadSegment(path);
      // a crash happened before the segment's first record
      if (segment === undefined) remove(path);
      else this.#segments.set(path, segment);
    }
    this.#heldBytes = this.held().reduce((sum, { length }) => sum + length, 0);
  }

  /** Returns the batches of earlier sessions, in the order of queueing. */
  waiting(): SpooledBatch[] {
    return [...this.#segments.values()].flatMap((segment) => {
      if (segment.unacknowledged.size === 0) return [];
      return readBatches(segment).filter(({ offset }) => segment.unacknowledged.has(offset));
    });
  }

  /** Returns the newest session with remaining batches, and the position of its input. */
  newest(): (SpoolSession & { readonly ended: boolean }) | undefined {
    const newest = [...this.#segments.values()].at(-1);
    // its batches are all acknowledged, and its input was read to the end: nothing of the session remains
    const isDone = newest?.ended === true && newest.unacknowledged.size === 0;
    return newest === undefined || isDone
      ? undefined
      : { ...newest.session, position: newest.position, ended: newest.ended };
  }

  /** Errors: SPOOL_OF_OTHER_SERVICE if batches for another service wait. */
  requireTarget(target: string): void {
    for (const { session, unacknowledged } of this.#segments.values()) {
      if (unacknowledged.size === 0 || session.target === target) continue;
      const message = `${this.directory} holds events for ${session.target}, and these go to ${target}`;
      throw new GovSpoolError('SPOOL_OF_OTHER_SERVICE', message, {
        hint: 'use the context of those events, or another spool: --spool=DIR',
      });
    }
  }

  /** Starts a session. Removes segments without waiting batches. */
  begin(session: SpoolSession): void {
    this.#startSegment(session, session.position);
    for (const segment of this.#segments.values()) this.#discard(segment);
  }

  get isBegun(): boolean {
    return this.#active !== undefined;
  }

  #startSegment(session: SpoolSession, position: Position): void {
    const path = join(this.directory, `${String(this.#next).padStart(8, '0')}.queue`);
    this.#next += 1;
    const journal = Journal.create(path);
    journal.append({ kind: 'session', ...session, position } satisfies QueueRecord);
    const segment: Segment = {
      path,
      session,
      position,
      ended: false,
      unacknowledged: new Set(),
      held: new Map(),
      acks: undefined,
    };
    const before = this.#active;
    this.#active = { journal, segment, position };
    this.#segments.set(path, segment);
    before?.journal.close();
    if (before !== undefined) this.#discard(before.segment);
  }

  /** Puts a batch on disk. Throws the system's error, after which the spool accepts no more batches. */
  append(batch: Batch): SpooledBatch {
    if (this.#active === undefined) throw new Error('expected begin() before append()');
    if (this.#active.journal.size >= this.#segmentBytes) {
      this.#startSegment(this.#active.segment.session, this.#active.position);
    }
    const active = this.#active;
    const { offset, length } = active.journal.append({ kind: 'batch', ...batch } satisfies QueueRecord);
    active.segment.unacknowledged.add(offset);
    active.position = advance(active.position, batch);
    return { segment: active.segment, offset, length, lane: batch.lane, events: batch.events.length };
  }

  /** The same for events of an earlier batch: the position of the input stays. */
  appendAgain(batch: Batch): SpooledBatch {
    const { source, lanes } = this.#active?.position ?? { source: 0, lanes: [-1] };
    return this.append({ ...batch, source, last: lanes[batch.lane] ?? -1 });
  }

  /** All input is in the spool: a later push has nothing to read again. */
  end(): void {
    if (this.#active === undefined) return;
    this.#active.journal.append({ kind: 'ended' } satisfies QueueRecord);
    this.#active.segment.ended = true;
  }

  read({ segment, offset, length }: Pick<SpooledBatch, 'segment' | 'offset' | 'length'>): Batch {
    // the journal's checksum matches, so this is a record that `append` wrote
    const { kind: _kind, ...batch } = readEntry(segment.path, { offset, length }) as QueueRecord & Batch;
    return batch;
  }

  /**
   * Notes that the service has judged a batch; a full disk does not stop sending. Removes the segment after its last batch,
   * unless receipts hold it. Throws the system's error if rejected events cannot be kept.
   */
  acknowledge(
    { segment, offset, length }: SpooledBatch,
    batch: Batch,
    { results, receipts = [] }: DeliveryResult,
  ): void {
    this.#keepRejected(batch, results);
    const isNoted = this.#mayNote(segment, receipts.length === 0 ? { offset } : { offset, receipts });
    segment.unacknowledged.delete(offset);
    if (receipts.length > 0 && isNoted) {
      segment.held.set(offset, { segment, offset, length, receipts, isLost: false });
      this.#heldBytes += length;
    }
    while (this.#heldBytes > limits.heldBytes) this.release(this.held().slice(0, 1));
    this.#discard(segment);
  }

  #note(segment: Segment, record: AckRecord): void {
    const acks = (segment.acks ??= Journal.open(acksOf(segment.path)));
    try {
      acks.append(record);
    } catch (cause) {
      // it takes no more records: the next one opens the file again
      segment.acks = undefined;
      acks.close();
      throw cause;
    }
  }

  /** Whether the disk took the note. Without it a later process sends the batch again, under the same idempotency key. */
  #mayNote(segment: Segment, record: AckRecord): boolean {
    try {
      this.#note(segment, record);
      return true;
    } catch {
      return false;
    }
  }

  /** Acknowledged batches with receipts, the oldest first; those for one service only where `target` is given. */
  held(target?: string): HeldBatch[] {
    const segments = [...this.#segments.values()];
    const own = segments.filter(({ session }) => target === undefined || session.target === target);
    return own.flatMap(({ held }) => [...held.values()]);
  }

  /** Keeps these batches no longer. */
  release(batches: readonly HeldBatch[]): void {
    const bySegment = Map.groupBy(batches, ({ segment }) => segment);
    for (const [segment, members] of bySegment) {
      this.#note(segment, { released: members.map(({ offset }) => offset) });
      for (const { offset, length } of members) {
        if (segment.held.delete(offset)) this.#heldBytes -= length;
      }
      this.#discard(segment);
    }
  }

  /** Notes that lost events of the batch were queued again. */
  markLost(batch: HeldBatch): void {
    this.#note(batch.segment, { lost: batch.offset });
    batch.segment.held.set(batch.offset, { ...batch, isLost: true });
  }

  /** Keeps rejected events: from a pipe they would otherwise be lost. */
  #keepRejected(batch: Batch, results: DeliveryResult['results']): void {
    const rejected = results.flatMap(({ status, reason }, index) => {
      const { sourceName: source, lines, events } = batch;
      if (status === 'accepted') return [];
      return [`${JSON.stringify({ source, line: lines[index], reason, event: events[index] })}\n`];
    });
    if (rejected.length === 0) return;
    const file = openSync(this.rejectedPath, 'a', 0o600);
    try {
      appendFileSync(file, rejected.join(''));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }

  get rejectedPath(): string {
    return join(this.directory, 'rejected.ndjson');
  }

  /**
   * Removes a segment without waiting batches that is not being written: first the queue, then its acks. Keeps the newest
   * segment until a newer one knows how far its session has read.
   */
  #discard(segment: Segment): void {
    if (segment === this.#active?.segment || segment.unacknowledged.size + segment.held.size > 0) return;
    const isNewest = segment === [...this.#segments.values()].at(-1);
    if (isNewest && !segment.ended) return;
    segment.acks?.close();
    segment.acks = undefined;
    this.#segments.delete(segment.path);
    remove(segment.path);
    syncDirectory(this.directory);
    remove(acksOf(segment.path));
  }

  /** Releases the spool. Waiting batches stay for the next push. */
  close(): void {
    const active = this.#active;
    this.#active = undefined;
    active?.journal.close();
    if (active !== undefined) this.#discard(active.segment);
    for (const segment of this.#segments.values()) segment.acks?.close();
    this.#release();
  }
}

const advance = (position: Position, { source, lane, last }: Batch): Position => {
  const lanes = source === position.source ? position.lanes : position.lanes.map(() => -1);
  return { source, lanes: lanes.with(lane, last) };
};

function loadSegment(path: string): Segment | undefined {
  const { entries } = readJournal(path);
  // the journal's checksums match, so these are records of this program
  const [first, ...records] = entries.map(({ value, offset }) => ({ record: value as QueueRecord, offset }));
  if (first === undefined || first.record.kind !== 'session') return undefined;
  const { kind: _kind, ...session } = first.record;
  const unacknowledged = new Set<number>();
  const segment: Segment = {
    path,
    session,
    position: session.position,
    ended: records.some(({ record }) => record.kind === 'ended'),
    unacknowledged,
    held: new Map(),
    acks: undefined,
  };
  let { position } = session;
  const lengths = new Map(entries.map(({ offset, length }) => [offset, length]));
  for (const { record, offset } of records) {
    if (record.kind !== 'batch') continue;
    unacknowledged.add(offset);
    position = advance(position, record);
  }
  const acknowledged = existsSync(acksOf(path)) ? readJournal(acksOf(path)).entries : [];
  for (const { value } of acknowledged) settle(segment, value as AckRecord, lengths);
  segment.position = position;
  return segment;
}

function settle(segment: Segment, record: AckRecord, lengths: ReadonlyMap<number, number>): void {
  const { held, unacknowledged } = segment;
  if ('released' in record) {
    for (const offset of record.released) held.delete(offset);
  } else if ('lost' in record) {
    const batch = held.get(record.lost);
    if (batch !== undefined) held.set(record.lost, { ...batch, isLost: true });
  } else {
    const { offset, receipts } = record;
    unacknowledged.delete(offset);
    const length = lengths.get(offset) ?? 0;
    if (receipts !== undefined) held.set(offset, { segment, offset, length, receipts, isLost: false });
  }
}

function readBatches(segment: Segment): SpooledBatch[] {
  return readJournal(segment.path).entries.flatMap(({ offset, length, value }) => {
    const record = value as QueueRecord;
    if (record.kind !== 'batch') return [];
    return [{ segment, offset, length, lane: record.lane, events: record.events.length }];
  });
}

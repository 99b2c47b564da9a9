/**
 * `EventRecorder`: records events of an agent in the background. `record` neither waits nor throws; batches go to the
 * service in order, and with a spool each is on disk before it is sent. What is dropped is counted, reported to the
 * program, and recorded in the run that lacks it. A crash leaves: events in the spool, which the next recorder of the
 * directory sends under the same idempotency keys; events of the last `lingerMs`, which are lost unless `saved` returned.
 * Tested by `test/client/recorder.test.ts` against a real plane, with processes that are killed.
 */
import type { EventInput } from '../contract/events.ts';
import { limits } from '../contract/limits.ts';
import { backoffMs, type Backoff } from '../core/backoff.ts';
import type { Json } from '../core/json/parse.ts';
import type { Client } from './create.ts';
import { jsonText } from './json-text.ts';
import { Losses, type DropReason } from './losses.ts';
import { atExit } from './sending/at-exit.ts';
import { Batcher, type Batch } from './sending/batch.ts';
import { answered, deliver, type DeliveryResult, type Sink } from './sending/deliver.ts';
import type { Disk, DiskOptions } from './sending/disk.ts';
import { Bell, MemoryQueue, type BatchQueue } from './sending/queue.ts';
import type { RecorderCounts, RecorderOptions, RecorderProblem } from './recorder-options.ts';
import { anySignal } from './signals.ts';
import { timerMs } from './timer.ts';

const backoff: Backoff = {
  firstMs: limits.clientBackoffMs,
  mostMs: limits.recorderRetrySeconds * 1000,
  jitter: 0.5,
};

type DiskCalls = Pick<DiskOptions, 'tell' | 'resent'>;

/** Records events in the background. `EventRecorder.open` makes one; `close` it at the end. */
export class EventRecorder {
  readonly #options: RecorderOptions;
  readonly #disk: Disk | null;
  readonly #queue: BatchQueue;
  readonly #sink: Sink;
  readonly #batcher: Batcher;
  readonly #losses = new Losses();
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #bell = new Bell();
  readonly #forget: () => void;
  /** Batches that are complete and not in the queue yet. */
  readonly #complete: Batch[] = [];
  readonly #sender: Promise<void>;
  #moving: Promise<void> = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Events in memory only. */
  #held = 0;
  #given = 0;
  #sent = 0;
  #rejected = 0;
  #resumed: number;
  #waiting: number;
  #closing: Promise<RecorderCounts> | undefined;
  /** Callers of `flush`, who keep the process alive. */
  #flushing = 0;
  /** No more attempts are worth waiting for: a failed one ends the sender. */
  #isLast = false;

  private constructor(client: Client, options: RecorderOptions, open: (calls: DiskCalls) => Disk | null) {
    this.#options = options;
    const disk = open({
      // what could not be checked now is checked later
      tell: (finding) => {
        if (finding.kind !== 'unchecked') this.#tell(finding);
      },
      resent: (events) => this.#resend(events),
    });
    this.#disk = disk;
    this.#queue = disk?.queue ?? new MemoryQueue(1);
    this.#resumed = disk?.found ?? 0;
    this.#waiting = this.#resumed;
    this.#sink = sinkOf(client);
    const batchSize = Math.min(options.batchSize ?? limits.recorderBatchEvents, limits.batchEvents);
    const keyPrefix = `rec-${crypto.randomUUID()}-`;
    this.#batcher = new Batcher({ index: 0, name: 'recorder' }, { batchSize, lanes: 1, keyPrefix });
    const given = [this.#stop.signal, options.signal, client.options.signal];
    this.#signal = anySignal(given.filter((signal) => signal !== undefined));
    this.#signal.addEventListener('abort', () => void this.close({ timeoutMs: 0 }), { once: true });
    this.#forget = atExit({ idle: () => this.#idle(), exit: () => this.#saveNow() });
    this.#sender = this.#send();
  }

  /** Errors: `GovSpoolError`, or the system's, where the spool cannot be used. */
  static async open(client: Client, options: RecorderOptions = {}): Promise<EventRecorder> {
    options.signal?.throwIfAborted();
    const { baseUrl, project } = client.options;
    const target = project === undefined ? baseUrl : `${baseUrl} ${project}`;
    const { spool } = options;
    if (spool === undefined) return new EventRecorder(client, options, () => null);
    const { openDisk } = await import('./sending/disk.ts');
    return new EventRecorder(client, options, (calls) => openDisk(spool, { target, client, ...calls }));
  }

  get counts(): RecorderCounts {
    return {
      given: this.#given,
      resumed: this.#resumed,
      sent: this.#sent,
      rejected: this.#rejected,
      dropped: this.#losses.counts(),
      waiting: this.#waiting,
    };
  }

  /**
   * Takes an event, and returns whether it did: false means that the event is dropped and counted. Never throws, never
   * waits. An event without a `clientEventId` gets one, so that the service stores it once.
   */
  record(event: EventInput): boolean {
    this.#given += 1;
    let runId: unknown;
    try {
      runId = event.runId;
      if (this.#closing !== undefined) return this.#drop('closed', { runId });
      if (this.#held >= (this.#options.bufferedEvents ?? limits.recorderBufferedEvents))
        return this.#drop('full', { runId });
      const text = jsonText({ clientEventId: crypto.randomUUID(), ...event });
      if (Buffer.byteLength(text) > limits.eventBytes)
        throw new RangeError(`expected an event of at most ${limits.eventBytes} bytes`);
      this.#add(text);
      return true;
    } catch (cause) {
      // a cycle, NaN, a BigInt, a getter that throws
      return this.#drop('invalid', { runId, cause });
    }
  }

  #add(text: string): void {
    // parsed again: the program may change its object while the event waits
    const complete = this.#batcher.add(
      { line: this.#given, event: JSON.parse(text) as Json, text },
      this.#given,
    );
    this.#held += 1;
    this.#waiting += 1;
    if (complete.length > 0) this.#move(complete);
    this.#timer ??= unkept(setTimeout(() => this.#move(), this.#options.lingerMs ?? limits.recorderLingerMs));
  }

  #drop(
    reason: DropReason,
    { runId, events = 1, cause }: { runId?: unknown; events?: number; cause?: unknown },
  ): false {
    this.#losses.add(reason, typeof runId === 'string' ? runId : '', events);
    this.#tell({ kind: 'dropped', reason, events, ...(cause === undefined ? {} : { cause }) });
    return false;
  }

  #tell(problem: RecorderProblem): void {
    try {
      this.#options.onProblem?.(problem);
    } catch {
      // a mistake in the program's own report must not reach the agent
    }
  }

  /** Moves complete batches to the queue, one after the other, in a task of its own. */
  #move(complete: readonly Batch[] = this.#take()): void {
    this.#complete.push(...complete);
    this.#moving = this.#moving.then(() => this.#moveAll());
  }

  async #moveAll(): Promise<void> {
    for (let batch = this.#complete[0]; batch !== undefined; batch = this.#complete[0]) {
      if (this.#disk === null) await this.#queue.put(batch);
      else this.#save(this.#disk, batch);
      this.#complete.shift();
    }
  }

  /** Returns the batch that grows, and the losses to record. */
  #take(): Batch[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const loss of this.#losses.take()) {
      this.#given += 1;
      this.#held += 1;
      this.#waiting += 1;
      const event = { clientEventId: crypto.randomUUID(), ...loss };
      const text = JSON.stringify(event);
      this.#complete.push(
        ...this.#batcher.add({ line: this.#given, event: event as Json, text }, this.#given),
      );
    }
    return this.#batcher.flush();
  }

  #save(disk: Disk, batch: Batch): void {
    const { length } = batch.events;
    try {
      const most = this.#options.spoolBytes ?? limits.recorderSpoolBytes;
      if (disk.waitingBytes() >= most) this.#lose('spoolFull', batch);
      else disk.save(batch);
    } catch (cause) {
      this.#lose('disk', batch, cause);
    }
    this.#held -= length;
  }

  #lose(reason: DropReason, { events }: Batch, cause?: unknown): void {
    this.#waiting -= events.length;
    for (const event of events) this.#losses.add(reason, (event as { runId?: string }).runId ?? '', 1);
    this.#tell({ kind: 'dropped', reason, events: events.length, ...(cause === undefined ? {} : { cause }) });
    this.#bell.ring();
  }

  async #send(): Promise<void> {
    for (;;) {
      const batch = await this.#queue.take(0);
      if (batch === null || this.#signal.aborted) return;
      const delivered = await this.#deliver(batch);
      if (delivered === null) return;
      if (!(await this.#settle(batch, delivered))) return;
      this.#settled(batch, delivered);
    }
  }

  /** Repeats until the disk takes rejected events. Returns false if the recorder ends before. */
  async #settle(batch: Batch, delivered: DeliveryResult): Promise<boolean> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.#queue.settle(0, batch, delivered);
        return true;
      } catch (cause) {
        this.#tell({ kind: 'waiting', cause });
        if (this.#signal.aborted || this.#isLast) return false;
        await this.#rest(attempt);
      }
    }
  }

  /** The log lost events that the spool still had. */
  #resend(events: number): void {
    this.#resumed += events;
    this.#waiting += events;
  }

  /** Repeats until the service answers. Returns null if the recorder ends before. */
  async #deliver(batch: Batch): Promise<DeliveryResult | null> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await deliver(batch, {
          sink: this.#sink,
          signal: this.#signal,
          retries: limits.clientRetries,
        });
      } catch (cause) {
        if (this.#signal.aborted) return null;
        this.#tell({ kind: 'waiting', cause });
        if (this.#isLast) return null;
        await this.#rest(attempt);
      }
    }
  }

  /** Waits longer after each failure; `flush` and `close` end the wait. */
  async #rest(attempt: number): Promise<void> {
    const timer = setTimeout(() => this.#bell.ring(), backoffMs(backoff, attempt + 1, Math.random()));
    if (this.#flushing === 0) unkept(timer);
    await this.#bell.wait();
    clearTimeout(timer);
  }

  #settled({ events }: Batch, { results }: DeliveryResult): void {
    this.#waiting -= events.length;
    if (this.#disk === null) this.#held -= events.length;
    for (const [at, { status, reason }] of results.entries()) {
      if (status === 'accepted') this.#sent += 1;
      else {
        this.#rejected += 1;
        this.#tell({ kind: 'rejected', event: events[at], reason: reason ?? '' });
      }
    }
    this.#bell.ring();
  }

  /** Resolves after every event so far is in the spool: a crash no longer loses it. Without a spool, as `flush`. */
  async saved(): Promise<void> {
    if (this.#disk === null) return void (await this.flush());
    this.#move();
    await this.#moving;
  }

  /** Sends every event so far; resolves when nothing waits, or when `signal` fires. Never throws. */
  async flush({ signal }: { readonly signal?: AbortSignal } = {}): Promise<RecorderCounts> {
    const wake = (): void => this.#bell.ring();
    signal?.addEventListener('abort', wake, { once: true });
    this.#move();
    this.#flushing += 1;
    wake();
    const isOver = (): boolean => this.#waiting === 0 || signal?.aborted === true;
    while (!isOver() && this.#closing === undefined) await this.#bell.wait();
    this.#flushing -= 1;
    signal?.removeEventListener('abort', wake);
    return this.counts;
  }

  /**
   * Sends what it can within `timeoutMs` (default `limits.recorderCloseMs`), and ends. With a spool the rest stays on disk;
   * without one the rest is dropped and counted. Never throws; a second call returns the first one's promise.
   */
  close({
    timeoutMs = limits.recorderCloseMs,
  }: { readonly timeoutMs?: number } = {}): Promise<RecorderCounts> {
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  async #close(timeoutMs: number): Promise<RecorderCounts> {
    if (!this.#signal.aborted) this.#move();
    const timer = setTimeout(() => this.#stop.abort(new Error('the recorder closed')), timerMs(timeoutMs));
    this.#isLast = true;
    void this.#moving.then(() => this.#queue.close());
    this.#bell.ring();
    await (this.#signal.aborted ? this.#halt() : Promise.race([this.#sender, this.#halted()]));
    clearTimeout(timer);
    this.#saveNow();
    this.#forget();
    try {
      // where events wait, the service was not reached
      const mayCheck = !this.#signal.aborted && this.#waiting === 0;
      await this.#disk?.close(mayCheck ? Math.min(timeoutMs, limits.heldCloseMs) : 0);
    } catch (cause) {
      this.#tell({ kind: 'waiting', cause });
    }
    if (this.#disk === null && this.#waiting > 0) {
      this.#drop('unsent', { events: this.#waiting });
      this.#waiting = 0;
    }
    return this.counts;
  }

  async #halted(): Promise<void> {
    await new Promise<void>((resolve) =>
      this.#signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    await this.#halt();
  }

  /** Ends the sender. */
  async #halt(): Promise<void> {
    this.#queue.stop();
    this.#bell.ring();
    await this.#sender;
  }

  /** Nothing else keeps the process alive: with a spool it ends at once, else after the service had its time. */
  async #idle(): Promise<void> {
    if (this.#disk !== null) {
      this.#disk.interrupt();
      this.#saveNow();
    } else if (this.#waiting > 0) await this.close();
  }

  /** Puts all that is in memory on disk, at once. */
  #saveNow(): void {
    if (this.#disk === null) return;
    const batches = [...this.#complete.splice(0), ...this.#take(), ...this.#complete.splice(0)];
    for (const batch of batches) this.#save(this.#disk, batch);
  }
}

/** A timer that does not keep the process alive. */
function unkept(timer: ReturnType<typeof setTimeout>): ReturnType<typeof setTimeout> {
  if (typeof timer === 'object') timer.unref();
  return timer;
}

const sinkOf = (client: Client): Sink => ({
  async push({ key, events }, signal) {
    const body = { events: [...events] };
    const { body: answer, headers } = await client.createEvents({ body, idempotencyKey: key, signal });
    return answered(answer, headers);
  },
});

/**
 * Sends the log of one project to one target: read, send, then move the cursor. What a crash leaves at each step: the
 * cursor is before the batch, and the batch is sent again with the same leaf indexes. Nothing is skipped but pruned
 * leaves, which a notice names, and records that the receiver refuses for good, which are counted.
 * Proven by `test/host/forwards/lane.test.ts` and `test/host/forwards/refused.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { backoffMs, type Backoff } from '../../core/backoff.ts';
import { gapNotice, probeNotice } from '../../core/forwards/notice.ts';
import type { LogSource } from '../../core/forwards/record.ts';
import type { Log } from '../../service/call/log.ts';
import type { Turn } from '../../service/call/turns.ts';
import type { ForwardStatus } from '../../service/hosting/forwards.ts';
import type { StoreReader } from '../../store/port/store.ts';
import type { ForwardTarget } from './config.ts';
import {
  cursorAt,
  newCursor,
  readCursor,
  saveCursor,
  statusOf,
  type Cursor,
  type CursorStore,
  type HeldCursor,
  type LaneTrouble,
} from './cursor.ts';
import { gather, lineOf } from './gather.ts';
import { nextHead } from './heads.ts';
import type { Batch, TransportFailure, SendOutcome, Transport } from './transport.ts';

export type LaneStore = Pick<StoreReader, 'head' | 'leaves' | 'newestCheckpoint' | 'prunedBelow'> &
  CursorStore;

export interface LaneOptions {
  readonly store: LaneStore;
  readonly now: () => number;
  readonly random: () => number;
  readonly log: Log;
  readonly hostname: string;
  /** Names this process in leases. */
  readonly owner: string;
  /** Whether other processes may serve the same store. */
  readonly isShared: boolean;
  readonly open: (target: ForwardTarget) => Promise<Transport>;
}

const leaseMs = 60_000;
const saveEveryMs = 1000;
const backoff: Backoff = {
  firstMs: limits.forwardBackoffMs,
  mostMs: limits.forwardBackoffMaxMs,
  jitter: 0.5,
};

export class Lane {
  readonly target: ForwardTarget;
  readonly source: LogSource;
  readonly #options: LaneOptions;
  /** For lines of the log of the process. */
  readonly #names: { readonly target: string; readonly projectId: string };
  #held: HeldCursor | null = null;
  /** The first leaf that was not sent. At or after `cursor.next`. */
  #position = 0;
  /** Records, bytes and time of what was sent and is not confirmed. */
  #open: { records: number; bytes: number; sinceMs: number; state: unknown; refused: number } | null = null;
  #transport: Transport | null = null;
  #failures = 0;
  #retryMs: number | null = null;
  #behindSinceMs: number | null = null;
  #savedMs = 0;
  #storedNext = -1;

  constructor(target: ForwardTarget, source: LogSource, options: LaneOptions) {
    this.target = target;
    this.source = source;
    this.#options = options;
    this.#names = { target: target.name, projectId: source.projectId };
  }

  /** Sends up to `limits.forwardTurnBatches` batches. Never throws for what a receiver or a file does. */
  async turn(): Promise<Turn> {
    const { now } = this.#options;
    if (this.#retryMs !== null && now() < this.#retryMs) return { next: 'later', atMs: this.#retryMs };
    try {
      const isOurs = await this.#hold();
      return isOurs ? await this.#work() : { next: 'later', atMs: now() + leaseMs / 2 };
    } catch (error) {
      return this.#fail(error instanceof Error ? error.message : String(error), null);
    }
  }

  async #work(): Promise<Turn> {
    const { now, store } = this.#options;
    const { size } = await store.head(this.source.projectId, 'audit');
    for (let batches = 0; batches < limits.forwardTurnBatches; batches++) {
      if (this.#mustConfirm()) {
        const kept = await this.#confirm();
        if (!kept.ok) return this.#fail(kept.failed, kept.retryAfterMs);
      }
      const batch = await this.#next(size);
      if (batch === null) return this.#rest();
      if (typeof batch === 'number') return { next: 'later', atMs: batch };
      this.#behindSinceMs ??= now();
      const fault = await this.#deliver(batch);
      if (fault !== null) return this.#fail(fault.failed, fault.retryAfterMs);
    }
    return { next: 'again' };
  }

  /** The log has no more: waits for confirmation, if something waits for it. */
  async #rest(): Promise<Turn> {
    if (this.#open !== null) return { next: 'later', atMs: this.#confirmAtMs(this.#open.sinceMs) };
    await this.#save({}, 'soon');
    this.#behindSinceMs = null;
    const headMs = this.#held === null ? null : await this.#sendHead(this.#held.cursor);
    if (headMs !== null) return { next: 'later', atMs: headMs };
    const isSaved = this.#held?.cursor.next === this.#storedNext;
    return isSaved ? { next: 'wait' } : { next: 'later', atMs: this.#savedMs + saveEveryMs };
  }

  /** Sends the newest signed head, if it is due. Returns when to look for the next one; null where there is none. */
  async #sendHead(cursor: Cursor): Promise<number | null> {
    const { source, target } = this;
    const { now, ...options } = this.#options;
    const head = await nextHead({ ...options, source, target, cursor, nowMs: now() });
    if (head === null || typeof head === 'number') return head;
    const fault = await this.#deliver({ source, from: cursor.next, to: cursor.next, lines: [head.line] });
    if (fault !== null) throw new Error(fault.failed);
    await this.#save({ head: { size: head.size, atMs: now() } }, 'now');
    return now();
  }

  /** Returns the next batch; null where there is none; a time where the target wants to wait for more leaves. */
  async #next(size: number): Promise<Batch | number | null> {
    const { store, hostname, now } = this.#options;
    const { target, source } = this;
    const floor = await store.prunedBelow(source.projectId);
    if (this.#position < floor) await this.#skip(floor);
    if (this.#position >= size) return null;
    const begun = this.#held?.cursor.begun ?? null;
    const more = { store, source, target, hostname, from: this.#position };
    if (begun !== null && begun > this.#position) return gather({ ...more, size: begun, exactly: true });
    if (target.kind !== 's3') return gather({ ...more, size, exactly: false });
    this.#behindSinceMs ??= now();
    const dueMs = this.#behindSinceMs + target.everySeconds * 1000;
    if (size - this.#position < limits.forwardBatchLeaves && now() < dueMs) return dueMs;
    const batch = await gather({ ...more, size, exactly: false });
    // a repetition must cover the same leaves, so that it replaces the same object
    await this.#save({ begun: batch.to }, 'now');
    this.#behindSinceMs = now();
    return batch;
  }

  /** Reports pruned leaves to the receiver and in the log. A new target starts at the first leaf that is not pruned. */
  async #skip(floor: number): Promise<void> {
    const { now, log } = this.#options;
    const gap = { from: this.#position, to: floor, atMs: now() };
    log.error({ ...this.#names, ...gap }, 'leaves were pruned before they were forwarded');
    const record = gapNotice(this.source, { nowMs: gap.atMs, from: gap.from, to: gap.to });
    const line = lineOf(record, { target: this.target, hostname: this.#options.hostname });
    const fault = await this.#deliver({ source: this.source, from: gap.from, to: gap.to, lines: [line] });
    if (fault !== null) throw new Error(fault.failed);
    const gaps = [gap, ...(this.#held?.cursor.gaps ?? [])].slice(0, limits.forwardGaps);
    await this.#save({ gaps }, 'now');
  }

  /** Sends a batch, and takes each part that the receiver has. Returns what stopped it, or null. */
  async #deliver(batch: Batch): Promise<TransportFailure | null> {
    for (let rest = batch; ;) {
      this.#transport ??= await this.#options.open(this.target);
      const state = this.#open?.state ?? this.#held?.cursor.state ?? null;
      const sent = await this.#transport.send(rest, state);
      if (sent.ok) {
        await this.#took(rest, sent);
        return null;
      }
      if (!sent.isRefused) return sent;
      const { refusedAt } = sent;
      const [lone] = rest.lines;
      if (refusedAt === undefined && rest.lines.length > 1) return this.#halves(rest);
      // a receiver that refuses everything, as one with another address does, refuses no content
      if (refusedAt === undefined && !(await this.#takesProbe(rest, lone?.index ?? rest.from))) return sent;
      const at = refusedAt ?? 0;
      const after = await this.#without(rest, { at, why: sent.failed });
      if (after.lines.length === 0) return null;
      rest = after;
    }
  }

  /** Whether the receiver takes a record that only says that another one was refused. */
  async #takesProbe(batch: Batch, refused: number): Promise<boolean> {
    const { hostname, now } = this.#options;
    const probe = probeNotice(this.source, { nowMs: now(), refused });
    const lines = [lineOf(probe, { target: this.target, hostname })];
    return (await this.#transport?.send({ ...batch, lines }, null))?.ok === true;
  }

  /** The receiver does not say which record it refuses: sends halves, until that record is alone. */
  async #halves(batch: Batch): Promise<TransportFailure | null> {
    const { lines } = batch;
    const middle = lines.length >> 1;
    const cut = lines[middle]?.index ?? batch.to;
    const first = await this.#deliver({ ...batch, to: cut, lines: lines.slice(0, middle) });
    return first ?? this.#deliver({ ...batch, from: cut, lines: lines.slice(middle) });
  }

  /** The receiver has the lines before `at` and refuses that one, which is left out. Returns the lines after it. */
  async #without(batch: Batch, { at, why }: { at: number; why: string }): Promise<Batch> {
    const { lines } = batch;
    const fields = { ...this.#names, index: lines[at]?.index, why };
    this.#options.log.error(fields, 'a receiver refuses a record');
    const from = lines[at + 1]?.index ?? batch.to;
    const read = { ...batch, to: from, lines: lines.slice(0, at + 1) };
    await this.#took(read, { ok: true, isKept: true, refused: 1 });
    return { ...batch, from, lines: lines.slice(at + 1) };
  }

  /** The receiver has the batch, or will be asked whether it has. */
  async #took(
    batch: Batch,
    { isKept, state, refused = 0 }: Extract<SendOutcome, { ok: true }>,
  ): Promise<void> {
    this.#position = batch.to;
    const before = this.#open;
    this.#open = {
      records: (before?.records ?? 0) + batch.lines.length - refused,
      bytes: (before?.bytes ?? 0) + batch.lines.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0),
      sinceMs: before?.sinceMs ?? this.#options.now(),
      state: state === undefined ? (before?.state ?? null) : state,
      refused: (before?.refused ?? 0) + refused,
    };
    if (isKept) await this.#confirmed();
  }

  #mustConfirm(): boolean {
    if (this.#open === null) return false;
    const { bytes, sinceMs } = this.#open;
    return bytes >= limits.forwardConfirmBytes || this.#options.now() >= this.#confirmAtMs(sinceMs);
  }

  /** After a failure at once, so that a receiver that soon ends each connection gets on. */
  #confirmAtMs(sinceMs: number): number {
    return this.#failures > 0 ? sinceMs : sinceMs + confirmMs;
  }

  async #confirm(patienceMs = limits.forwardTimeoutSeconds * 1000): Promise<SendOutcome> {
    const kept = (await this.#transport?.confirm?.(patienceMs)) ?? { ok: true, isKept: true };
    if (kept.ok) await this.#confirmed();
    return kept;
  }

  /** Moves the cursor. A crash before the save repeats what was sent since the last one. */
  async #confirmed(): Promise<void> {
    const { log, now } = this.#options;
    const cursor = this.#held?.cursor;
    const open = this.#open;
    if (cursor === undefined || open === null) return;
    this.#open = null;
    this.#failures = 0;
    this.#retryMs = null;
    if (cursor.failingSinceMs !== null) log.info(this.#names, 'a forward target takes records again');
    const isNews = cursor.failingSinceMs !== null || cursor.begun !== null;
    await this.#save(
      {
        next: this.#position,
        records: cursor.records + open.records,
        refused: cursor.refused + open.refused,
        lastDeliveredMs: open.records > 0 ? now() : cursor.lastDeliveredMs,
        failingSinceMs: null,
        begun: cursor.begun !== null && cursor.begun > this.#position ? cursor.begun : null,
        ...(open.state === null ? {} : { state: open.state }),
      },
      isNews ? 'now' : 'soon',
    );
  }

  /** Changes the cursor, and stores it now or with a change within a second. */
  async #save(change: Partial<Cursor>, when: 'now' | 'soon'): Promise<void> {
    const { now } = this.#options;
    const held = this.#held;
    if (held === null) return;
    const nowMs = now();
    const cursor = { ...held.cursor, ...change };
    this.#held = { ...held, cursor };
    const isSaved = JSON.stringify(cursor) === held.stored?.data;
    if (isSaved || (when === 'soon' && nowMs - this.#savedMs < saveEveryMs)) return;
    await this.#store({ ...cursor, leaseUntilMs: nowMs + leaseMs });
  }

  async #store(cursor: Cursor): Promise<void> {
    const { store, now } = this.#options;
    const before = this.#held?.stored ?? null;
    const place = { projectId: this.source.projectId, target: this.target.name, nowMs: now() };
    this.#held = await saveCursor(store, place, { cursor, before });
    this.#savedMs = now();
    this.#storedNext = cursor.next;
    if (this.#held !== null) return;
    // another process has the lane now
    this.#forget();
    throw new Error('another process sends this log');
  }

  #forget(): void {
    this.#held = null;
    this.#open = null;
    this.#transport?.close();
    this.#transport = null;
  }

  /** Reads or creates the cursor. False where another process has it. */
  async #hold(): Promise<boolean> {
    const { store, now, owner, isShared } = this.#options;
    const { projectId } = this.source;
    const held = this.#held;
    if (held !== null) {
      if (!isShared || held.cursor.leaseUntilMs > now() + leaseMs / 2) return true;
      await this.#store({ ...held.cursor, owner, leaseUntilMs: now() + leaseMs });
      return true;
    }
    const found = await readCursor(store, projectId, this.target.name);
    if (found !== null && isShared && found.cursor.owner !== owner && found.cursor.leaseUntilMs > now())
      return false;
    const cursor = cursorAt(found?.cursor ?? newCursor(await this.#start()), this.target);
    this.#held = {
      stored: found?.stored ?? null,
      cursor: { ...cursor, owner, leaseUntilMs: now() + leaseMs },
    };
    await this.#store(this.#held.cursor);
    this.#position = this.#held.cursor.next;
    return true;
  }

  /** The first leaf of a new target. */
  async #start(): Promise<number> {
    const { store } = this.#options;
    const { projectId } = this.source;
    return this.target.from === 'start'
      ? store.prunedBelow(projectId)
      : (await store.head(projectId, 'audit')).size;
  }

  /** Everything since the cursor is sent again after a wait. */
  async #fail(why: string, retryAfterMs: number | null): Promise<Turn> {
    const { now, random, log } = this.#options;
    this.#failures += 1;
    // the random part comes on top, or all lanes of a receiver come back at the moment that it named
    const atMs = now() + (retryAfterMs ?? 0) + backoffMs(backoff, this.#failures, random());
    this.#retryMs = atMs;
    this.#transport?.close();
    this.#transport = null; // the next attempt reads secrets and certificates again
    this.#open = null;
    const cursor = this.#held?.cursor;
    if (cursor === undefined) return { next: 'later', atMs };
    this.#position = cursor.next;
    this.#behindSinceMs ??= now();
    const fields = { ...this.#names, why };
    if (cursor.failingSinceMs === null) log.warn(fields, 'a forward target takes no records');
    const failure = { lastError: why, lastErrorMs: now(), failingSinceMs: cursor.failingSinceMs ?? now() };
    // at most one document a second; a failed save costs only this note, and the next turn tries the store again
    await this.#save(failure, cursor.failingSinceMs === null ? 'now' : 'soon').catch(() => {});
    return { next: 'later', atMs };
  }

  /** What it did so far. Null before its first turn. */
  status(treeSize: number): ForwardStatus | null {
    const cursor = this.#held?.cursor;
    return cursor === undefined
      ? null
      : {
          ...statusOf(this.target, { cursor, treeSize }),
          behindSinceMs: this.#behindSinceMs,
          retryMs: this.#retryMs,
        };
  }

  /** Since when the receiver takes nothing, and since when the lane is behind. */
  trouble(): LaneTrouble {
    const cursor = this.#held?.cursor ?? null;
    return { failingSinceMs: cursor?.failingSinceMs ?? null, behindSinceMs: this.#behindSinceMs, cursor };
  }

  /** Confirms what was sent, saves the cursor and gives the lease back. */
  async stop(): Promise<void> {
    try {
      if (this.#open !== null) await this.#confirm(stopMs);
      const cursor = this.#held?.cursor;
      if (cursor !== undefined) await this.#store({ ...cursor, leaseUntilMs: 0 });
    } catch {
      // the next process repeats what is not confirmed
    } finally {
      this.#forget();
    }
  }
}

/** How long the end of the process waits for a receiver. */
const stopMs = 3000;
const confirmMs = limits.forwardConfirmSeconds * 1000;

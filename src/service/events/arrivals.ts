/**
 * Delivers new events to any number of readers. When the log of a project grows, it is read once for all
 * readers; each picks the events that match its filter. The newest events stay in memory as long as a reader
 * waits, and an idle reader costs next to nothing. A reader further back reads the store itself. Readers wake
 * at once after a pause, then at most every `limits.streamWakeMs`. Proven by
 * `test/service/events/arrivals.test.ts` and `test/http/stream/events.engines.long.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { StoreReader } from '../../store/port/store.ts';
import type { Leaf } from '../../store/port/store.ts';
import { openLeaf } from './handlers.ts';
import type { Tail } from '../log/tail.ts';

export interface NewEventFilter {
  readonly runId?: string;
  readonly eventType?: string;
}

interface NewEvents {
  readonly events: readonly NewEvent[];
  /** The page covers all leaves up to this index; the next page starts after it. */
  readonly after: number;
  /** Whether the reader should read again at once. Otherwise it is woken. */
  readonly more: boolean;
}

/** An event in a page. */
class NewEvent {
  readonly index: number;
  readonly bytes: number;
  readonly #leaf: Leaf;
  #text: string | null | undefined;
  #names: Required<NewEventFilter> | undefined;

  constructor(leaf: Leaf) {
    this.#leaf = leaf;
    this.index = leaf.index;
    this.bytes = leaf.record.length + (leaf.disclosures?.length ?? 0);
  }

  /**
   * The event as JSON, serialized once for all readers. Null where the leaf is no event. Throws like
   * `openLeaf`.
   */
  get text(): string | null {
    if (this.#text === undefined) {
      const event = openLeaf(this.#leaf);
      this.#text = event === null ? null : JSON.stringify(event);
    }
    return this.#text;
  }

  matches({ runId, eventType }: NewEventFilter): boolean {
    this.#names ??= JSON.parse(this.#leaf.record) as Required<NewEventFilter>;
    if (runId !== undefined && runId !== this.#names.runId) return false;
    return eventType === undefined || eventType === this.#names.eventType;
  }
}

/** A reader of one project. */
export interface NewEventReader {
  /**
   * Events after a leaf index, oldest first: at most `limits.streamPageEvents`, and about
   * `limits.streamPageBytes` at the size of the events before. Rejects with errors of the store.
   */
  read(after: number): Promise<NewEvents>;
  end(): void;
}

/** Events that fit a page whatever their size. */
const surelyFit = Math.floor(limits.streamPageBytes / limits.eventBytes);

/** How many events of this average size fit a page; null without events. */
function fitting(events: readonly NewEvent[]): number | null {
  if (events.length === 0) return null;
  const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
  const count = Math.floor((limits.streamPageBytes * events.length) / bytes);
  return Math.max(1, Math.min(limits.streamPageEvents, count));
}

type Reads = Pick<StoreReader, 'eventsAfter' | 'head'>;

interface WatchedLog {
  readonly newest: Newest;
  readonly wakes: Set<() => void>;
  readonly end: () => void;
  wokenAt: number;
  timer: NodeJS.Timeout | undefined;
}

export class EventTails {
  readonly #store: Reads;
  readonly #tail: Pick<Tail, 'watch'>;
  readonly #watched = new Map<string, WatchedLog>();

  constructor({ store, tail }: { readonly store: Reads; readonly tail: Pick<Tail, 'watch'> }) {
    this.#store = store;
    this.#tail = tail;
  }

  /** Calls `wake` soon after events become durable. */
  watch(projectId: string, filter: NewEventFilter, wake: () => void): NewEventReader {
    const watched = this.#watched.get(projectId) ?? this.#start(projectId);
    watched.wakes.add(wake);
    let limit = surelyFit;
    return {
      read: async (after) => {
        const page = await watched.newest.read(filter, after, limit);
        limit = fitting(page.events) ?? limit;
        return page;
      },
      end: () => {
        watched.wakes.delete(wake);
        if (watched.wakes.size > 0 || this.#watched.get(projectId) !== watched) return;
        this.#watched.delete(projectId);
        clearTimeout(watched.timer);
        watched.end();
      },
    };
  }

  #start(projectId: string): WatchedLog {
    const watched: WatchedLog = {
      newest: new Newest(this.#store, projectId),
      wakes: new Set(),
      end: this.#tail.watch(projectId, () => grew(watched)),
      wokenAt: -Infinity,
      timer: undefined,
    };
    this.#watched.set(projectId, watched);
    return watched;
  }
}

function grew(watched: WatchedLog): void {
  watched.newest.grew();
  if (watched.timer !== undefined) return;
  const waitMs = watched.wokenAt + limits.streamWakeMs - performance.now();
  if (waitMs <= 0) wakeAll(watched);
  else watched.timer = setTimeout(() => wakeAll(watched), waitMs).unref();
}

function wakeAll(watched: WatchedLog): void {
  watched.timer = undefined;
  watched.wokenAt = performance.now();
  for (const wake of watched.wakes) wake();
}

/** Whether a leaf may record an erasure. */
const recordsErasure = ({ record }: Leaf): boolean => record.includes('"eventType":"erasure.executed"');

class Newest {
  readonly #store: Reads;
  readonly #projectId: string;
  #events: NewEvent[] = [];
  #bytes = 0;
  #from = Infinity;
  #to = -1;
  /** Whether the log grew since the last read. */
  #stale = true;
  /** Whether the last read found a full page, so that there may be more. */
  #behind = false;
  #failed = false;
  #looking: Promise<void> | undefined;

  constructor(store: Reads, projectId: string) {
    this.#store = store;
    this.#projectId = projectId;
  }

  grew(): void {
    this.#stale = true;
  }

  /** `limit`: the most events to read for this reader alone. */
  async read(filter: NewEventFilter, after: number, limit: number): Promise<NewEvents> {
    // a read that started before the log grew may miss its events; the next one does not
    if (this.#looking !== undefined) await this.#looking;
    if (this.#stale || this.#looking !== undefined) await (this.#looking ??= this.#look());
    if (this.#failed || after < this.#from - 1) return this.#readStore(filter, after, limit);
    const found: NewEvent[] = [];
    for (const event of this.#events) {
      if (event.index <= after || !event.matches(filter)) continue;
      found.push(event);
      if (found.length === limits.streamPageEvents) return { events: found, after: event.index, more: true };
    }
    return { events: found, after: Math.max(after, this.#to - 1), more: this.#behind };
  }

  async #readStore(filter: NewEventFilter, after: number, limit: number): Promise<NewEvents> {
    const to = this.#to;
    const leaves = await this.#store.eventsAfter(this.#projectId, filter, { after, limit });
    const events = leaves.map((leaf) => new NewEvent(leaf));
    const last = events.at(-1)?.index ?? after;
    const more = events.length === limit;
    return { events, after: more ? last : Math.max(last, to - 1), more };
  }

  /** Drops events in memory, whose fields may be erased by now. The next read sees the erasure. */
  #forget(): void {
    this.#events = [];
    this.#bytes = 0;
    this.#from = this.#to;
  }

  /**
   * Reads the newest events. Never rejects: after a failure each reader reads the store itself and gets the
   * error.
   */
  async #look(): Promise<void> {
    this.#stale = false;
    try {
      if (this.#to === -1) {
        const { size } = await this.#store.head(this.#projectId, 'audit');
        this.#from = this.#to = size;
      } else await this.#extend();
      this.#failed = false;
    } catch {
      this.#stale = this.#failed = true;
    } finally {
      this.#looking = undefined;
    }
  }

  async #extend(): Promise<void> {
    const limit = limits.streamPageEvents;
    const leaves = await this.#store.eventsAfter(this.#projectId, {}, { after: this.#to - 1, limit });
    if (leaves.some(recordsErasure)) this.#forget();
    for (const leaf of leaves) {
      const event = new NewEvent(leaf);
      this.#events.push(event);
      this.#bytes += event.bytes;
      this.#to = event.index + 1;
    }
    this.#behind = leaves.length === limit;
    if (this.#behind) this.#stale = true;
    // after every reader that waited for this read has picked its events
    setImmediate(() => this.#trim());
  }

  #trim(): void {
    let drop = 0;
    for (const { index, bytes } of this.#events) {
      const left = this.#events.length - drop;
      if (this.#bytes <= limits.streamHeldBytes && left <= limits.streamPageEvents) break;
      this.#bytes -= bytes;
      this.#from = index + 1;
      drop += 1;
    }
    if (drop > 0) this.#events = this.#events.slice(drop);
  }
}

/**
 * Requests of a client that the server has not answered, by id. Bounded, so that a server that never answers cannot fill
 * the memory. Tested by `test/cli/mcp/open-calls.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { isObject } from '../../core/json/object.ts';
import { defaultBounds } from '../../core/json/parse.ts';
import type { Envelope } from '../../core/mcp/envelope.ts';
import { ListError, PendingLists } from './listing.ts';
import type { CallEnd, Run } from './outcome.ts';

/** A tool call from its arrival to the end of its run. */
export class OpenCall {
  readonly token: string | undefined;
  readonly #stop = new AbortController();
  #startedMs: number | null = null;
  #progress = 0;
  #timer: NodeJS.Timeout | undefined;
  #finish: ((ended: CallEnd) => void) | undefined;

  constructor(progressToken: unknown) {
    const isToken = typeof progressToken === 'string' || typeof progressToken === 'number';
    this.token = isToken ? JSON.stringify(progressToken) : undefined;
  }

  /** Fires when the client cancels. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get isForwarded(): boolean {
    return this.#startedMs !== null;
  }

  /** The call was sent to the server. Resolves when it ends. */
  async run(): Promise<Run> {
    this.#startedMs = performance.now();
    const ended = await new Promise<CallEnd>((resolve) => (this.#finish = resolve));
    clearTimeout(this.#timer);
    return {
      ended,
      durationMs: performance.now() - this.#startedMs,
      cancelled: this.signal.aborted,
      progress: this.#progress,
    };
  }

  /** The client cancelled before the call was sent. */
  unsent(): Run {
    return { ended: { how: 'interrupted' }, durationMs: 0, cancelled: true, progress: 0 };
  }

  progressed(): void {
    this.#progress++;
  }

  end(ended: CallEnd): void {
    this.#finish?.(ended);
  }

  /** The server may still answer; after a time its silence is the outcome. */
  cancel(): void {
    this.#stop.abort(new Error('cancelled by the client'));
    this.#timer ??= setTimeout(() => this.end({ how: 'interrupted' }), limits.mcpCancelSeconds * 1000);
  }
}

interface OpenRequest {
  readonly method: string;
  readonly call: OpenCall | undefined;
  /** Called when the request is no longer open. */
  readonly ended?: () => void;
  /** A request of the proxy itself: its answer does not go to the client. */
  readonly own?: PromiseWithResolvers<Envelope>;
}

export class OpenRequests {
  readonly #open = new Map<string, OpenRequest>();
  readonly #byToken = new Map<string, OpenCall>();
  readonly #lists: PendingLists;

  constructor(lists: PendingLists = new PendingLists()) {
    this.#lists = lists;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Returns why the request cannot be taken; undefined if it was. */
  add(id: string, method: string, call?: OpenCall): string | undefined {
    if (this.#open.has(id)) return `the id ${id.slice(0, 64)} belongs to a request that has no answer yet`;
    if (this.#open.size >= limits.mcpOpenRequests)
      return `expected at most ${limits.mcpOpenRequests} requests without an answer, got another one`;
    this.#open.set(id, {
      method,
      call,
      ...(method === 'tools/list' ? { ended: this.#lists.begin() } : {}),
    });
    if (call?.token !== undefined) this.#byToken.set(call.token, call);
    return undefined;
  }

  /** Adds a request of the proxy itself. Returns its answer; rejects with ListError if the server ends before. */
  addOwn(id: string, method: string): Promise<Envelope> {
    const own = Promise.withResolvers<Envelope>();
    this.#open.set(id, { method, call: undefined, own });
    return own.promise;
  }

  get(id: string): OpenRequest | undefined {
    return this.#open.get(id);
  }

  remove(id: string): void {
    const open = this.#open.get(id);
    if (open?.call?.token !== undefined) this.#byToken.delete(open.call.token);
    this.#open.delete(id);
    open?.ended?.();
  }

  /** Counts a notification of progress. */
  notified(envelope: Envelope): void {
    if (this.#byToken.size === 0 || envelope.text('method') !== 'notifications/progress') return;
    try {
      const params = envelope.value('params', defaultBounds);
      if (isObject(params)) this.#byToken.get(JSON.stringify(params['progressToken']))?.progressed();
    } catch {
      // not countable, and forwarded as it is
    }
  }

  /** Ends all calls that run. Returns the ids of the requests that still wait for an answer. */
  endAll(detail: string): string[] {
    const open = [...this.#open];
    for (const [, { call, own, ended }] of open) {
      call?.end({ how: 'unanswered', detail });
      own?.reject(new ListError(`ended before it answered tools/list`));
      ended?.();
    }
    this.#open.clear();
    this.#byToken.clear();
    return open
      .filter(([, { call, own }]) => own === undefined && call?.signal.aborted !== true)
      .map(([id]) => id);
  }
}

/**
 * Group commit without a timer, per project: a commit takes the requests that queued during the previous one.
 * Projects only wait for each other at the limit of connections. A full queue refuses the newest
 * request of the project with the most. A refused request is refused alone. If the database is unreachable, every
 * request of the commit is rejected and the next commit tries again, so writing recovers by itself.
 * Proven by `test/store/postgres/suite.alone.test.ts` and `test/store/postgres/crash.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { makeWay } from '../../../core/fair-queue.ts';
import { overloaded } from '../../port/bounds.ts';
import type { AppendOutcome, AppendRequest } from '../../port/store.ts';
import { requestBytes } from '../../port/request-bytes.ts';
import type { RequestOutcome } from './plan.ts';

interface QueuedAppend {
  readonly request: AppendRequest;
  readonly bytes: number;
  readonly resolve: (outcome: AppendOutcome) => void;
  readonly reject: (error: unknown) => void;
}

export type Commit = (
  projectId: string,
  requests: readonly AppendRequest[],
) => Promise<readonly RequestOutcome[]>;

export class WriteQueue {
  readonly #commit: Commit;
  readonly #waiting = new Map<string, QueuedAppend[]>();
  readonly #running = new Set<Promise<void>>();
  #count = 0;
  #closed = false;

  /** The queue calls `commit` with requests of one project, and never twice at a time for one project. */
  constructor(commit: Commit) {
    this.#commit = commit;
  }

  /** How many requests are unsettled. */
  get queued(): number {
    return this.#count;
  }

  /** Throws SHUTTING_DOWN once the store is closing. */
  refuseClosed(): void {
    if (this.#closed)
      throw new GovError(
        'SHUTTING_DOWN',
        'expected an open store, got one that is closing; nothing was stored',
      );
  }

  async append(request: AppendRequest): Promise<AppendOutcome> {
    this.refuseClosed();
    return new Promise((resolve, reject) => {
      const item = { request, bytes: requestBytes(request), resolve, reject };
      const { projectId } = request;
      const refused = this.#count < limits.writeQueue ? undefined : makeWay(this.#waiting, projectId, item);
      refused?.reject(overloaded());
      if (refused === item) return;
      if (refused === undefined) this.#count += 1;
      const queue = this.#waiting.get(projectId);
      if (queue !== undefined) queue.push(item);
      else this.#start(projectId, item);
    });
  }

  /** Settles the queued requests and refuses all later ones. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** A project stays in `waiting` while its queue runs. */
  #start(projectId: string, first: QueuedAppend): void {
    const queue = [first];
    this.#waiting.set(projectId, queue);
    const run = this.#run(projectId, queue).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  async #run(projectId: string, queue: QueuedAppend[]): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve)); // collect the requests of this turn of the event loop
    while (queue.length > 0) await this.#settle(projectId, take(queue));
    this.#waiting.delete(projectId);
  }

  async #settle(projectId: string, items: readonly QueuedAppend[]): Promise<void> {
    try {
      const settled = await this.#commit(
        projectId,
        items.map(({ request }) => request),
      );
      this.#count -= items.length;
      items.forEach((item, at) => {
        const each = settled[at];
        if (each?.done === true) item.resolve(each.outcome);
        else item.reject(each?.error);
      });
    } catch (error) {
      this.#count -= items.length;
      for (const { reject } of items) reject(error);
    }
  }
}

function take(queue: QueuedAppend[]): QueuedAppend[] {
  let bytes = 0;
  let count = 0;
  while (count < queue.length && count < limits.commitRequests && bytes < limits.commitBytes) {
    bytes += queue[count]?.bytes ?? 0;
    count += 1;
  }
  return queue.splice(0, count);
}

/**
 * Group commit without a timer, for each project: a commit takes what queued while the one before was under way.
 * Projects do not wait for each other but for a connection, and one that floods is refused itself. Refusals are told apart from trouble: a request that is
 * refused is refused alone; where the database cannot be reached, every request of the commit is refused, and the
 * next one tries again, so writing heals by itself.
 */
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { makeWay } from '../../../core/fair-queue.ts';
import { overloaded } from '../../port/bounds.ts';
import type { AppendOutcome, AppendRequest } from '../../port/store.ts';
import { requestBytes } from '../../port/request-bytes.ts';
import type { Settled } from './plan.ts';

interface Queued {
  readonly request: AppendRequest;
  readonly bytes: number;
  readonly resolve: (outcome: AppendOutcome) => void;
  readonly reject: (error: unknown) => void;
}

export type Commit = (projectId: string, requests: readonly AppendRequest[]) => Promise<readonly Settled[]>;

export class WriteQueue {
  private readonly commit: Commit;
  private readonly waiting = new Map<string, Queued[]>();
  private readonly running = new Set<Promise<void>>();
  private count = 0;
  private closed = false;

  /** `commit` is called with requests of one project, never twice at a time for the same one. */
  constructor(commit: Commit) {
    this.commit = commit;
  }

  /** Requests that are not settled yet. */
  get queued(): number {
    return this.count;
  }

  /** Throws once the store is closing. */
  refuseClosed(): void {
    if (this.closed) throw new GovError('SHUTTING_DOWN', 'the store is closing; nothing was stored');
  }

  async append(request: AppendRequest): Promise<AppendOutcome> {
    this.refuseClosed();
    return new Promise((resolve, reject) => {
      const item = { request, bytes: requestBytes(request), resolve, reject };
      const { projectId } = request;
      const refused = this.count < limits.writeQueue ? undefined : makeWay(this.waiting, projectId, item);
      refused?.reject(overloaded());
      if (refused === item) return;
      if (refused === undefined) this.count += 1;
      const queue = this.waiting.get(projectId);
      if (queue !== undefined) queue.push(item);
      else this.start(projectId, item);
    });
  }

  /** Settles what is queued, then refuses everything. */
  async close(): Promise<void> {
    this.closed = true;
    while (this.running.size > 0) await Promise.all(this.running);
  }

  /** A project is in `waiting` as long as it is worked on. */
  private start(projectId: string, first: Queued): void {
    const queue = [first];
    this.waiting.set(projectId, queue);
    const run = this.run(projectId, queue).finally(() => this.running.delete(run));
    this.running.add(run);
  }

  private async run(projectId: string, queue: Queued[]): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve)); // what this turn of the event loop brings
    while (queue.length > 0) await this.settle(projectId, take(queue));
    this.waiting.delete(projectId);
  }

  private async settle(projectId: string, items: readonly Queued[]): Promise<void> {
    try {
      const settled = await this.commit(
        projectId,
        items.map(({ request }) => request),
      );
      this.count -= items.length;
      items.forEach((item, at) => {
        const each = settled[at];
        if (each?.done === true) item.resolve(each.outcome);
        else item.reject(each?.error);
      });
    } catch (error) {
      this.count -= items.length;
      for (const { reject } of items) reject(error);
    }
  }
}

function take(queue: Queued[]): Queued[] {
  let bytes = 0;
  let count = 0;
  while (count < queue.length && count < limits.commitRequests && bytes < limits.commitBytes) {
    bytes += queue[count]?.bytes ?? 0;
    count += 1;
  }
  return queue.splice(0, count);
}

/**
 * Claims lanes and works on them, quick and slow ones with limits of their own; removes messages whose history ended.
 * Any number of processes do so at once. Proven by `test/service/webhooks/sending.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { StoredDocument } from '../../store/port/store.ts';
import { Poller } from '../call/poller.ts';
import type { Services } from '../port/services.ts';
import { laneKind, type LaneClass } from './endpoint.ts';
import { laneLeaseMs, workLane } from './lane.ts';
import { deliveryKind } from './message.ts';

const lookEveryMs = 1000;
const cleanEveryMs = 60_000;
const lanesAtOnce = 24;
const removedAtOnce = 200;
const dayMs = 86_400_000;

export class WebhookSender {
  readonly #services: Services;
  readonly #poller: Poller;
  readonly #running: Readonly<Record<LaneClass, Set<Promise<void>>>> = { ready: new Set(), slow: new Set() };
  readonly #cleaner: Poller;

  constructor(services: Services) {
    this.#services = services;
    this.#poller = new Poller({
      everyMs: lookEveryMs,
      poll: () => this.#claimAll(),
      log: services.log,
      failed: 'no lane of webhooks could be claimed',
    });
    this.#cleaner = new Poller({
      everyMs: cleanEveryMs,
      poll: (signal) => removeOld(services, signal),
      log: services.log,
      failed: 'old webhooks could not be removed yet',
      level: 'warn',
    });
  }

  start(): void {
    this.#poller.start();
    this.#cleaner.start();
  }

  /** Looks for due lanes now. */
  wake(): void {
    this.#poller.wake();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#poller.stop(), this.#cleaner.stop()]);
    await Promise.allSettled([...this.#running.ready, ...this.#running.slow]);
  }

  async #claimAll(): Promise<void> {
    for (const lane of ['ready', 'slow'] as const) await this.#claim(lane);
  }

  async #claim(lane: LaneClass): Promise<void> {
    const { store, now } = this.#services;
    const running = this.#running[lane];
    // a worker that ended left its lane busy
    const statuses = lane === 'ready' ? ['ready', 'busy'] : ['slow'];
    while (running.size < lanesAtOnce && !this.#poller.isStopped) {
      const claim = { kind: laneKind, statuses, nowMs: now(), leaseMs: laneLeaseMs, becomes: 'busy' };
      const claimed = await store.claimDocument(claim);
      if (claimed === null) return;
      const work = this.#work(claimed).finally(() => {
        running.delete(work);
        this.wake();
      });
      running.add(work);
    }
  }

  async #work(claimed: StoredDocument): Promise<void> {
    const { log } = this.#services;
    try {
      await workLane(this.#services, claimed, () => this.#poller.isStopped);
    } catch (error) {
      if (!this.#poller.isStopped)
        log.warn(
          { err: error, endpointId: claimed.documentId },
          'an endpoint of webhooks waits for the next try',
        );
    }
  }
}

/** Removes the messages whose history ended. Returns how many. */
export async function removeOld(services: Services, signal?: AbortSignal): Promise<number> {
  const { store, now } = services;
  const statuses = ['pending', 'delivered', 'failed', 'cancelled'];
  for (let removed = 0; ;) {
    const nowMs = now();
    const oldest =
      signal?.aborted === true
        ? null
        : await store.claimDocument({ kind: deliveryKind, statuses, nowMs, leaseMs: cleanEveryMs });
    if (oldest === null) return removed;
    const { projectId, documentId } = oldest;
    const after = { ms: nowMs - limits.webhookHistoryDays * dayMs, id: '' };
    const others = await store.documents(projectId, { kind: deliveryKind }, { after, limit: removedAtOnce });
    const all = [oldest, ...others.filter((each) => each.documentId !== documentId)];
    const changes = all.map(({ kind, documentId: id, version }) => ({
      remove: { kind, documentId: id, version },
    }));
    const outcome = await store.saveDocuments(projectId, changes);
    if (outcome === 'saved') removed += all.length;
  }
}

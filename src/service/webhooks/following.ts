/**
 * From the log to messages: follows the log of each project with endpoints, and saves the messages of each leaf together
 * with the cursor. So each leaf gives each endpoint its messages exactly once, whichever process follows and wherever
 * one ends. An altered leaf gives none: it is logged and skipped. Recording never waits for it. Proven by `test/service/webhooks/following.test.ts`.
 */
import type { DocumentChange, Leaf, StoredDocument } from '../../store/port/store.ts';
import type { Services } from '../port/services.ts';
import { Poller } from '../call/poller.ts';
import { Turns, type Turn } from '../call/turns.ts';
import { follow, isAltered } from '../outbox/follow.ts';
import { calledLane, endpointData, endpointKind, isEnabled, laneKind } from './endpoint.ts';
import { deliveryIdOf, eventMessage, newDelivery } from './message.ts';
import { mayHave, needsBody, occurredIn, type WebhookOccurrence } from './occurred.ts';

export const cursorKind = 'webhook_cursor';
/** The one cursor of a project. */
export const cursorId = 'log';

/** Messages that one step saves, about. */
const messagesAtOnce = 200;
/** The cursor is saved at every leaf of this number, also where nothing happened. */
const unsavedLeaves = 4000;
/** Appends within this time are read together. */
const gatherMs = 50;
/** How long a project waits whose log could not be followed. */
const retryMs = 1000;
/** How often a process looks for projects whose first endpoint another process created. */
const lookMs = 30_000;
const projectsAtOnce = 500;

interface FollowedProject {
  readonly unwatch: () => void;
  cursor: StoredDocument | null;
  timer: NodeJS.Timeout | null;
}

export class WebhookFollower {
  readonly #services: Services;
  readonly #made: () => void;
  readonly #projects = new Map<string, FollowedProject>();
  readonly #turns: Turns<string>;
  readonly #looking: Poller;

  /** `made` is called after messages were saved. */
  constructor(services: Services, made: () => void) {
    this.#services = services;
    this.#made = made;
    this.#turns = new Turns({
      atOnce: Infinity,
      now: services.now,
      turn: (projectId) => this.#turn(projectId),
    });
    this.#looking = new Poller({
      everyMs: lookMs,
      poll: () => this.#look(),
      log: services.log,
      failed: 'projects with webhooks could not be read yet',
      level: 'warn',
    });
  }

  start(): void {
    this.#looking.start();
  }

  get #isStopped(): boolean {
    return this.#looking.isStopped;
  }

  /** Follows a project that has endpoints. */
  follow(projectId: string): void {
    if (this.#isStopped) return;
    const known = this.#projects.get(projectId);
    if (known === undefined) {
      const unwatch = this.#services.tail.watch(projectId, () => this.#grew(projectId));
      this.#projects.set(projectId, { unwatch, cursor: null, timer: null });
    }
    this.#grew(projectId);
  }

  async stop(): Promise<void> {
    const looked = this.#looking.stop();
    for (const projectId of this.#projects.keys()) this.#forget(projectId);
    await Promise.all([looked, this.#turns.stop()]);
  }

  async #look(): Promise<void> {
    const { store } = this.#services;
    let after: StoredDocument | undefined;
    do {
      const page = { limit: projectsAtOnce, ...(after === undefined ? {} : { after }) };
      const found = await store.allDocuments(cursorKind, page);
      for (const { projectId } of found) if (!this.#projects.has(projectId)) this.follow(projectId);
      after = found.length < projectsAtOnce ? undefined : found.at(-1);
    } while (after !== undefined && !this.#isStopped);
  }

  #grew(projectId: string): void {
    const project = this.#projects.get(projectId);
    if (project === undefined || project.timer !== null || this.#isStopped) return;
    project.timer = setTimeout(() => {
      project.timer = null;
      this.#turns.wake(projectId);
    }, gatherMs);
  }

  async #turn(projectId: string): Promise<Turn> {
    const project = this.#projects.get(projectId);
    if (project === undefined) return { next: 'wait' };
    try {
      await this.#catchUp(projectId, project);
      return { next: 'wait' };
    } catch (error) {
      project.cursor = null;
      const { log, now } = this.#services;
      if (!this.#isStopped)
        log.warn({ err: error, projectId }, 'webhooks of a project wait: its log could not be followed');
      return { next: 'later', atMs: now() + retryMs };
    }
  }

  async #catchUp(projectId: string, project: FollowedProject): Promise<void> {
    const { store } = this.#services;
    while (!this.#isStopped) {
      project.cursor ??= await store.document(projectId, cursorKind, cursorId);
      if (project.cursor === null) return this.#forget(projectId);
      const step = await followOnce(this.#services, project.cursor);
      if (step.made) this.#made();
      if (step.cursor === null) return;
      project.cursor = step.cursor === 'lost' ? null : step.cursor;
    }
  }

  #forget(projectId: string): void {
    const project = this.#projects.get(projectId);
    project?.unwatch();
    if (project !== undefined && project.timer !== null) clearTimeout(project.timer);
    this.#projects.delete(projectId);
  }
}

/** One step. `made`: whether it saved messages. */
export async function followOnce(
  services: Services,
  cursor: StoredDocument,
): Promise<{ readonly cursor: StoredDocument | null | 'lost'; readonly made: boolean }> {
  const { store, now } = services;
  const { projectId } = cursor;
  const endpoints = await store.documents(projectId, { kind: endpointKind }, { limit: 1000 });
  let made = false;
  let hasSkipped = false;
  const skipped = (error: unknown): void => {
    hasSkipped = true;
    services.log.error({ err: error, projectId }, 'webhooks skip an altered leaf');
  };
  const next = await follow({
    store,
    cursor,
    bodies: false,
    skipped,
    fits: (leaves) => fitting(leaves, endpoints.length),
    take: async (leaves) => {
      const occurred = await occurredAmong(services, { projectId, leaves, skipped });
      // read after the leaves, so that an endpoint gets every leaf after the one that records its creation
      const changes = occurred.length === 0 ? [] : await messagesOf(services, projectId, occurred, now());
      made = changes.length > 0;
      // saved past a skipped leaf, so that a restart does not log it again
      return made || hasSkipped || isFar(leaves) ? changes : null;
    },
  });
  return { cursor: next, made: made && next !== 'lost' };
}

/** Whether the cursor is to be saved although nothing happened. */
const isFar = (leaves: readonly Leaf[]): boolean =>
  leaves.some(({ index }) => index % unsavedLeaves === unsavedLeaves - 1);

/** How many of the leaves give about `messagesAtOnce` messages, at least one. */
function fitting(leaves: readonly Leaf[], endpoints: number): number {
  let messages = 0;
  const at = leaves.findIndex((leaf) => mayHave(leaf) && (messages += endpoints) > messagesAtOnce);
  return at === -1 ? leaves.length : Math.max(1, at);
}

async function occurredAmong(
  { store }: Services,
  of: {
    readonly projectId: string;
    readonly leaves: readonly Leaf[];
    readonly skipped: (error: unknown) => void;
  },
): Promise<WebhookOccurrence[]> {
  const found: WebhookOccurrence[] = [];
  const whole = (index: number): Promise<Leaf | null> =>
    store.leaf(of.projectId, index).catch((error: unknown) => {
      if (!isAltered(error)) throw error;
      of.skipped(error);
      return null;
    });
  for (const each of of.leaves.filter(mayHave)) {
    const leaf = needsBody(each) ? await whole(each.index) : each;
    if (leaf !== null) found.push(...occurredIn(leaf));
  }
  return found;
}

/** The messages for all endpoints that want them, and the calls for their lanes. */
async function messagesOf(
  { store }: Services,
  projectId: string,
  occurred: readonly WebhookOccurrence[],
  nowMs: number,
): Promise<DocumentChange[]> {
  const page = { limit: 1000 }; // beyond the bound of endpoints
  const [endpoints, lanes] = await Promise.all([
    store.documents(projectId, { kind: endpointKind }, page),
    store.documents(projectId, { kind: laneKind }, page),
  ]);
  const messages = occurred.map((each) => ({ ...each, ...eventMessage(each, projectId) }));
  const changes: DocumentChange[] = [];
  for (const endpoint of endpoints.filter(isEnabled)) {
    const endpointId = endpoint.documentId;
    const { events, fromIndex } = endpointData(endpoint);
    const wanted = messages.filter(
      ({ type, index }) => index >= fromIndex && (events.includes('*') || events.includes(type)),
    );
    const lane = lanes.find(({ documentId }) => documentId === endpointId);
    if (wanted.length === 0 || lane === undefined) continue;
    for (const each of wanted) {
      const { eventId, type, payload } = each;
      const deliveryId = deliveryIdOf(each, projectId, endpointId);
      changes.push(
        ...newDelivery({ deliveryId, endpointId, eventId, type, payload, redelivery: false }, nowMs),
      );
    }
    changes.push(calledLane(lane, nowMs));
  }
  return changes;
}

/**
 * Reads the logs of all projects again in the background, `scrub.ts` says what it compares. One process reads a log at a
 * time: the document of a project is claimed with a lease, and its version proves the lease. Slices of about 5 ms are
 * followed by rests of twenty times their length, so that the scrub takes at most a twentieth of a core and of a disk.
 * A crash repeats at most the leaves of the last `saveMs`. Each altered place becomes an event of `gov.system`, also
 * one that a request has read first. Proven by `test/service/operations/scrubber.test.ts`.
 */
import { setTimeout as rest } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import type { StoredDocument } from '../../store/port/store.ts';
import type { Services } from '../port/services.ts';
import { recordViolation, type AlteredPlace } from './events.ts';
import { readOn, startPass } from './scrub.ts';
import { readScrub, scrubId, scrubKind, unread, type ScrubState } from './scrub-state.ts';

const hourMs = 3_600_000;
const leaseMs = 60_000;
const saveMs = 5000;
/** After this time another project gets its turn. */
const turnMs = 30_000;
const enrolEveryMs = hourMs;
const lookEveryMs = 5000;
/** Before the first pass; a start has better things to do. */
const firstAfterMs = 60_000;
const sliceMs = 5;
const restFactor = 20;
const leastRestMs = 50;
const mostLeaves = 256;
const pageProjects = 100;

export interface ScrubberOptions {
  /** The project of a plane; null for all projects of a service. */
  readonly projectId: string | null;
}

export class Scrubber {
  readonly #services: Services;
  readonly #options: ScrubberOptions;
  readonly #ended = new AbortController();
  #running: Promise<void> | undefined;
  #enrolledMs = -Infinity;
  /** Altered leaves of the store's condition that are recorded. */
  #recorded = 0;
  /** Adapts to the size of leaves and the speed of the disk. */
  #most = 64;

  constructor(services: Services, options: ScrubberOptions) {
    this.#services = services;
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ended;
    const firstMs = performance.now() + firstAfterMs;
    while (!signal.aborted) {
      let hasWorked = false;
      try {
        if (performance.now() < firstMs) await this.#recordAltered();
        else hasWorked = await this.turn();
      } catch (error) {
        if (!signal.aborted) this.#services.log.warn({ err: error }, 'the scrub could not go on yet');
      }
      if (!hasWorked) await this.#rest(lookEveryMs);
    }
  }

  /** Records what was found meanwhile, and reads one due log for a while. False where none is due. */
  async turn(): Promise<boolean> {
    const { store, now } = this.#services;
    await this.#recordAltered();
    if (now() - this.#enrolledMs > enrolEveryMs) {
      await this.#enrol();
      this.#enrolledMs = now();
    }
    const claim = { kind: scrubKind, statuses: ['waiting', 'reading'], nowMs: now(), leaseMs };
    const claimed = await store.claimDocument({ ...claim, becomes: 'reading' });
    if (claimed === null) return false;
    await this.#read(claimed);
    return true;
  }

  async #read(claimed: StoredDocument): Promise<void> {
    const { now } = this.#services;
    const { projectId } = claimed;
    let state = readScrub(claimed.data);
    let held: StoredDocument | null = claimed;
    if (state.reading === null) state = await startPass(this.#services, projectId, state);
    const until = performance.now() + turnMs;
    let savedMs = performance.now();
    let recorded = 0;
    // a log that takes no event is asked again at the end only
    let isTaking = true;
    while (state.reading !== null && performance.now() < until && !this.#ended.signal.aborted) {
      const since = performance.now();
      state = await readOn(this.#services, projectId, { state, most: this.#most });
      const tookMs = performance.now() - since;
      this.#most = Math.max(1, Math.min(mostLeaves, Math.round(this.#most * (tookMs > sliceMs ? 0.5 : 1.5))));
      if (isTaking) recorded = await this.#record(projectId, state, recorded);
      isTaking = recorded === state.findings.length;
      if (performance.now() - savedMs > saveMs) {
        held = await this.#save(held, { state, dueMs: now() + leaseMs });
        if (held === null) return;
        savedMs = performance.now();
      }
      await this.#rest(Math.max(leastRestMs, tookMs * restFactor));
    }
    await this.#record(projectId, state, recorded);
    const dueMs = state.reading === null ? state.startedMs + limits.scrubHours * hourMs : now();
    await this.#save(held, { state, dueMs });
  }

  /** Records the findings after the first `recorded` ones. Returns how many are recorded now. */
  async #record(projectId: string, { findings }: ScrubState, recorded: number): Promise<number> {
    let at = recorded;
    for (const finding of findings.slice(recorded)) {
      if (!(await this.#tell(projectId, finding))) return at;
      at += 1;
    }
    return at;
  }

  /** False where the log takes no event now, such as for an altered tile: what was found must be kept all the same. */
  async #tell(projectId: string, place: AlteredPlace): Promise<boolean> {
    try {
      await recordViolation(this.#services, projectId, place);
      return true;
    } catch (error) {
      this.#services.log.warn(
        { err: error, projectId, ...place },
        'an altered place could not be recorded yet',
      );
      return false;
    }
  }

  /** Null where another process has claimed the document meanwhile. */
  async #save(
    held: StoredDocument,
    { state, dueMs }: { readonly state: ScrubState; readonly dueMs: number },
  ): Promise<StoredDocument | null> {
    const status = state.reading === null ? 'waiting' : 'reading';
    const { projectId, ...document } = held;
    const save = { ...document, status, dueMs, data: JSON.stringify(state) };
    const outcome = await this.#services.store.saveDocuments(projectId, [{ save }]);
    return outcome === 'saved' ? { ...save, projectId, version: held.version + 1 } : null;
  }

  /** Gives each project its document. Newer projects come first, so the first page without a new one ends it. */
  async #enrol(): Promise<void> {
    const { store } = this.#services;
    const { projectId } = this.#options;
    if (projectId !== null) {
      await this.#enrolOne(projectId);
      return;
    }
    for (let after: string | undefined; !this.#ended.signal.aborted;) {
      const page = { ...(after === undefined ? {} : { after }), limit: pageProjects };
      const found = await store.everyProject({}, page);
      let isNew = false;
      for (const { project } of found) isNew = (await this.#enrolOne(project.projectId)) || isNew;
      if (found.length < pageProjects || !isNew) return;
      after = found.at(-1)?.project.projectId;
    }
  }

  async #enrolOne(projectId: string): Promise<boolean> {
    const { store, now } = this.#services;
    const kept = await store.document(projectId, scrubKind, scrubId);
    if (kept !== null) {
      await this.#undoJump(kept);
      return false;
    }
    const document = {
      kind: scrubKind,
      documentId: scrubId,
      key: null,
      parentId: null,
      status: 'waiting',
      createdMs: now(),
      dueMs: now(),
      version: 0,
      data: JSON.stringify(unread),
    };
    return (await store.saveDocuments(projectId, [{ save: document }])) === 'saved';
  }

  /** A pass that was planned while the clock was ahead would come years late. */
  async #undoJump({ projectId, ...document }: StoredDocument): Promise<void> {
    const nowMs = this.#services.now();
    if ((document.dueMs ?? 0) <= nowMs + limits.scrubHours * hourMs) return;
    await this.#services.store.saveDocuments(projectId, [{ save: { ...document, dueMs: nowMs } }]);
  }

  /** Records altered leaves that requests and tasks of this process have read. */
  async #recordAltered(): Promise<void> {
    for (const { projectId, ...place } of this.#services.store.condition().altered.slice(this.#recorded)) {
      if (!(await this.#tell(projectId, place))) return;
      this.#recorded += 1;
    }
  }

  async #rest(ms: number): Promise<void> {
    const { signal } = this.#ended;
    // a stop ends the rest
    await rest(ms, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

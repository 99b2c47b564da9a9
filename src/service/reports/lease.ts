/**
 * The lease of a report that a worker builds. It is renewed while the work runs. A worker whose lease was lost, since
 * it stood still for longer, notices at its next write: the document then has another version. Proven by
 * `test/service/reports/worker.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { StoredDocument } from '../../store/port/store.ts';
import type { Services } from '../port/services.ts';
import { LostLeaseError } from '../jobs/lease-lost.ts';
import { reportStart } from './start.ts';

const leaseMs = limits.jobLeaseSeconds * 1000;
const renewMs = limits.jobLeaseRenewSeconds * 1000;
/** Tries of a start at the same moment as that of another report of the project. */
const startTries = 5;

export class Lease {
  readonly #services: Services;
  #document: StoredDocument;
  #saving: Promise<void> = Promise.resolve();
  readonly #timer: NodeJS.Timeout;
  #isLost = false;

  constructor(services: Services, claimed: StoredDocument) {
    this.#services = services;
    this.#document = claimed;
    this.#timer = setInterval(() => {
      this.renew().catch((error: unknown) => {
        services.log.warn({ err: error, executionId: claimed.documentId }, 'a lease could not be renewed');
      });
    }, renewMs);
    this.#timer.unref();
  }

  /** Saves the data, and that the report reads the log from now on. CONFLICT where the lease was lost. */
  begin(data: string): Promise<void> {
    return this.#saved(data, startTries);
  }

  /** Saves the document with a new end of the lease. CONFLICT where the lease was lost. */
  renew(): Promise<void> {
    return this.#saved(this.#document.data, 0);
  }

  #saved(data: string, starts: number): Promise<void> {
    const saved = this.#saving.then(() => this.#save(data, starts));
    this.#saving = saved.catch(() => {});
    return saved;
  }

  async #save(data: string, starts: number): Promise<void> {
    const { store, now } = this.#services;
    const { projectId, ...document } = { ...this.#document, data, dueMs: now() + leaseMs };
    const start = starts === 0 ? [] : [await reportStart(store, projectId)];
    const outcome = await store.saveDocuments(projectId, [
      { save: document },
      ...start.map((save) => ({ save })),
    ]);
    if (outcome === 'saved') {
      this.#document = { ...document, projectId, version: document.version + 1 };
      return;
    }
    const stored = starts > 1 ? await store.document(projectId, document.kind, document.documentId) : null;
    if (stored?.version === document.version) return this.#save(data, starts - 1);
    this.#isLost = true;
    throw leaseLost(document.documentId);
  }

  /** The document as last saved. */
  async current(): Promise<StoredDocument> {
    await this.#saving;
    return this.#document;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** CONFLICT where a renewal noticed that the lease was lost. */
  check(): void {
    if (this.#isLost) throw leaseLost(this.#document.documentId);
  }

  /** Stops renewing and returns the document, whose version proves the lease. */
  async release(): Promise<StoredDocument> {
    clearInterval(this.#timer);
    await this.#saving;
    return this.#document;
  }
}

export const leaseLost = (executionId: string, cause?: unknown): LostLeaseError =>
  new LostLeaseError(`report ${executionId}`, cause);

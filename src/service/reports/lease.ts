/**
 * The lease of a report that a worker builds. It is renewed while the work runs. A worker whose lease was lost, since
 * it stood still for longer, notices at its next write: the document then has another version. Proven by
 * `test/service/reports/worker.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { StoredDocument } from '../../store/port/store.ts';
import type { Services } from '../dependencies.ts';

const leaseMs = limits.jobLeaseSeconds * 1000;
const renewMs = limits.jobLeaseRenewSeconds * 1000;

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

  /** Saves the data with a new end of the lease. CONFLICT where the lease was lost. */
  renew(data = this.#document.data): Promise<void> {
    const saved = this.#saving.then(() => this.#save(data));
    this.#saving = saved.catch(() => {});
    return saved;
  }

  async #save(data: string): Promise<void> {
    const { projectId, ...document } = { ...this.#document, data, dueMs: this.#services.now() + leaseMs };
    const outcome = await this.#services.store.saveDocuments(projectId, [{ save: document }]);
    if (outcome !== 'saved') {
      this.#isLost = true;
      throw leaseLost(document.documentId);
    }
    this.#document = { ...document, projectId, version: document.version + 1 };
  }

  /** The document as last saved. */
  async current(): Promise<StoredDocument> {
    await this.#saving;
    return this.#document;
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

export const leaseLost = (executionId: string, cause?: unknown): GovError =>
  new GovError('CONFLICT', `expected the lease of report ${executionId}, but another worker has it`, {
    cause,
  });

/**
 * Runs jobs from the store's queue (contract H1). A worker claims a job with a lease, renews it, and
 * completes it in the transaction of the result: a job runs at least once and takes effect exactly once. A
 * `transient` error repeats the job, at most three times; any other fails it at once. A job that was cancelled, or whose
 * lease was lost, stops at the next chunk of its task. Proven by
 * `test/service/jobs/handlers.engines.test.ts`.
 */
import { limits } from '../contract/limits.ts';
import { GovError } from '../contract/problems.ts';
import type { ProofRequest } from '../contract/proofs.ts';
import { chooseLayers } from '../core/proofs/layers.ts';
import type { ClaimedJob } from '../store/port/store.ts';
import { Poller } from './call/poller.ts';
import { append } from './writes/append.ts';
import { runExport } from './exports/job.ts';
import { jobFailed } from './jobs/events.ts';
import { errorSummary, knownError, retryAt } from './jobs/failure.ts';
import { LostLeaseError } from './jobs/lease-lost.ts';
import { prove } from './proofs/prove.ts';
import { runReplay } from './replay/job.ts';
import type { Services } from './port/services.ts';

const lookEveryMs = 1000;
const atOnce = 2;
/** Exports that are claimed in addition to other jobs. One is built at a time, in a thread of its own. */
const exportsAtOnce = 4;

export class JobWorker {
  readonly #services: Services;
  readonly #poller: Poller;
  readonly #running = new Set<Promise<void>>();
  /** Stops running jobs, by id. */
  readonly #stops = new Map<string, AbortController>();
  /** Exports among the running jobs. */
  #exports = 0;

  constructor(services: Services) {
    this.#services = services;
    this.#poller = new Poller({
      everyMs: lookEveryMs,
      poll: () => this.#claimAll(),
      log: services.log,
      failed: 'no job could be claimed',
    });
  }

  start(): void {
    this.#poller.start();
  }

  /** Looks for pending jobs now. */
  wake(): void {
    this.#poller.wake();
  }

  async #claimAll(): Promise<void> {
    const { store, now } = this.#services;
    while (this.#hasRoom() && !this.#poller.isStopped) {
      const job = await store.claimJob(now(), limits.jobLeaseSeconds * 1000);
      if (job === null) return;
      this.#begin(job);
    }
  }

  /** Exports and other jobs have limits of their own, so neither delays the other. */
  #hasRoom(): boolean {
    return this.#running.size - this.#exports < atOnce && this.#exports < exportsAtOnce;
  }

  #begin(job: ClaimedJob): void {
    const counted = job.type === 'export' ? 1 : 0;
    this.#exports += counted;
    const running = this.#run(job).finally(() => {
      this.#exports -= counted;
      this.#running.delete(running);
      this.wake();
    });
    this.#running.add(running);
  }

  async #run(job: ClaimedJob): Promise<void> {
    const { store, now, log } = this.#services;
    const stop = new AbortController();
    this.#stops.set(job.jobId, stop);
    const renewal = setInterval(() => {
      const untilMs = now() + limits.jobLeaseSeconds * 1000;
      store.renewJob(job.projectId, job.jobId, job.lease, untilMs).then(
        (isHeld) => isHeld || stop.abort(new LostLeaseError(`job ${job.jobId}`)),
        (error: unknown) => log.warn({ err: error, jobId: job.jobId }, 'a lease could not be renewed'),
      );
    }, limits.jobLeaseRenewSeconds * 1000);
    try {
      if (job.tries > limits.jobAttempts) await this.#giveUp(job);
      else await runJob(this.#services, job, stop.signal);
    } catch (error) {
      // an error that came through the worker thread has no class, but its cause aborted the signal
      if (error instanceof LostLeaseError || stop.signal.aborted) return;
      await this.#fail(job, error).catch((again: unknown) => {
        log.error({ err: again, jobId: job.jobId }, 'a failed job could not be marked');
      });
    } finally {
      clearInterval(renewal);
      if (this.#stops.get(job.jobId) === stop) this.#stops.delete(job.jobId);
    }
  }

  /** Another process notices at its next renewal. */
  cancelled(jobId: string): void {
    this.#stops.get(jobId)?.abort(new LostLeaseError(`job ${jobId}`));
  }

  async #fail(job: ClaimedJob, error: unknown): Promise<void> {
    const { store, now, log } = this.#services;
    const known = knownError(error);
    if (known.status >= 500) log.error({ err: error, jobId: job.jobId }, 'a job failed');
    const atMs = now();
    const summary = errorSummary(known, limits.jobErrorChars);
    const retryAtMs = retryAt(known, { made: job.tries, most: limits.jobAttempts }, atMs);
    if (retryAtMs === null) return failFinally(this.#services, job, { errorSummary: summary, atMs });
    await store.failJob(job.projectId, job.jobId, {
      lease: job.lease,
      errorSummary: summary,
      atMs,
      retryAtMs,
      // the job itself is fine: after any number of shutdowns the next process completes it
      isExcused: known.code === 'SHUTTING_DOWN',
    });
  }

  async #giveUp(job: ClaimedJob): Promise<void> {
    const errorSummary = `the worker was lost ${limits.jobAttempts} times`;
    await failFinally(this.#services, job, { errorSummary, atMs: this.#services.now() });
  }

  /** Stops claiming and waits for running jobs; `work.close()` ends them early. */
  async stop(): Promise<void> {
    await this.#poller.stop();
    await Promise.allSettled(this.#running);
  }
}

/**
 * Ends a job as failed, and records it in the same transaction: a crash before the store answers leaves the job with a
 * lease that runs out. An export has an event of its own, which its sweep records. Nothing changes if the lease was lost:
 * the store compares it.
 */
async function failFinally(
  services: Services,
  job: ClaimedJob,
  { errorSummary, atMs }: { readonly errorSummary: string; readonly atMs: number },
): Promise<void> {
  const { store, salt } = services;
  const { projectId, jobId, lease } = job;
  if (job.type === 'export') {
    await store.failJob(projectId, jobId, { lease, errorSummary, atMs, retryAtMs: null });
    return;
  }
  try {
    await append(services, {
      projectId,
      leaves: [jobFailed(job, { nowMs: atMs, salt })],
      fingerprints: new Map([[0, 'job.failed'] as const]),
      effects: [{ kind: 'failJob', jobId, lease, errorSummary, atMs }],
    });
  } catch (error) {
    if (!(error instanceof GovError && error.code === 'CONFLICT')) throw error;
  }
}

async function runJob(services: Services, job: ClaimedJob, signal: AbortSignal): Promise<void> {
  const { projectId, runId, jobId, lease } = job;
  if (job.type === 'replay') return runReplay(services, job, signal);
  if (job.type === 'export') return runExport(services, job, signal);
  // `createProof` checked and stored it
  const request = JSON.parse(job.request) as ProofRequest;
  await prove(services, {
    projectId,
    runId,
    layers: chooseLayers(request.composed?.layers),
    schemaVersion: request.schemaVersion ?? '1.0',
    by: { kind: 'job', jobId, lease, signal },
  });
}

/**
 * Builds one claimed report: a worker thread writes its artifacts, then one transaction stores result and event and
 * makes its deliveries due. A crash before that leaves bytes without a name, and another worker claims the report once
 * its lease has ended. An error that would recur fails the report at once, another one after
 * `limits.reportAttempts`. Proven by `test/service/reports/worker.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { ReportTemplateId } from '../../contract/report-words.ts';
import type { DocumentChange, StoredDocument } from '../../store/port/store.ts';
import type { ReportOutput } from '../call/report-work.ts';
import { deliveryKind, type StoredDelivery } from './deliveries/document.ts';
import type { Services } from '../port/services.ts';
import { append } from '../writes/append.ts';
import { witnessedNote } from '../exports/job.ts';
import { reportCompleted, reportFailed } from './events.ts';
import { ReportFiles, removeArtifacts } from './files.ts';
import { errorSummary, knownError, retryAt } from '../jobs/failure.ts';
import { LostLeaseError } from '../jobs/lease-lost.ts';
import { Lease, leaseLost } from './lease.ts';
import { evidenceHost, reportSigner } from './evidence.ts';
import { taskInput } from './input.ts';
import { dataOf, type MadeArtifact, type StoredReport } from './stored.ts';

export type Outcome = 'completed' | 'failed' | 'retried' | 'lost';

export async function buildReport(services: Services, claimed: StoredDocument): Promise<Outcome> {
  const { log } = services;
  const executionId = claimed.documentId;
  const before = dataOf<StoredReport>(claimed);
  const stored = { ...before, attempts: before.attempts + 1, startedMs: services.now() };
  const lease = new Lease(services, claimed);
  try {
    if (before.attempts >= limits.reportAttempts) throw interrupted();
    await lease.begin(JSON.stringify(stored));
    await makeReport(services, lease, stored);
    return 'completed';
  } catch (error) {
    const known = knownError(error);
    // an error that came through the worker thread has no class
    if (known instanceof LostLeaseError || lease.isLost) return 'lost';
    if (known.status >= 500) log.error({ err: error, executionId }, 'a report failed');
    return await settleFailure(services, { lease, stored, error: known }).catch((again: unknown) => {
      log.error({ err: again, executionId }, 'a failed report could not be marked');
      return 'lost';
    });
  } finally {
    await lease.release();
  }
}

const interrupted = (): GovError =>
  new GovError(
    'UNAVAILABLE',
    `the process ended during each of ${limits.reportAttempts} attempts; ask for a shorter period`,
  );

async function makeReport(services: Services, lease: Lease, stored: StoredReport): Promise<void> {
  const document = await lease.current();
  const { projectId, documentId: executionId } = document;
  const files = new ReportFiles(services, projectId, stored);
  let writing: Promise<unknown> = Promise.resolve();
  try {
    const checkpoint = await witnessedNote(services, projectId);
    // its rows are from the metering log: this note covers every leaf of the audit log below the checkpoint
    if (readsMetering(stored)) await services.checkpoints.sign(projectId, 'metering');
    const input = await taskInput(services, { projectId, executionId, stored, checkpoint });
    const host = {
      ...evidenceHost(services, projectId),
      signReport: reportSigner(services, input),
      file: (name: string) => (writing = files.open(name)),
      write: (bytes: Uint8Array) => {
        lease.check();
        return (writing = files.write(bytes)).then(() => bytes);
      },
    };
    // counts as large however few its rows are, so that reports and exports run one after the other
    const built = await services.exports.work.run('report', input, {
      events: limits.syncProofEvents + 1,
      host,
    });
    const made = await files.finish();
    await complete(services, await lease.release(), { stored, built, made });
  } catch (error) {
    // a thread that ended may leave its last chunk in progress
    await writing.catch(() => {});
    await files.abort();
    throw error;
  }
}

function readsMetering({ reportTemplateId, template }: StoredReport): boolean {
  const usage = 'usage-statement' satisfies ReportTemplateId;
  return reportTemplateId === usage || template?.sections.some((id) => id.startsWith(`${usage}/`)) === true;
}

async function complete(
  services: Services,
  document: StoredDocument,
  {
    stored,
    built,
    made,
  }: {
    readonly stored: StoredReport;
    readonly built: ReportOutput;
    readonly made: ReadonlyMap<string, MadeArtifact>;
  },
): Promise<void> {
  const { now, salt } = services;
  const { documentId: executionId } = document;
  const { summary, signature } = built;
  const nowMs = now();
  const expiresMs = nowMs + limits.reportDays * 86_400_000;
  const artifacts = stored.artifacts.map((each) => ({ ...each, made: made.get(each.format) ?? null }));
  const done: StoredReport = {
    ...stored,
    completedMs: nowMs,
    expiresMs,
    errorSummary: null,
    summary,
    signature,
    artifacts,
    preview: { ...stored.preview, made: made.get('preview') ?? null },
  };
  const hashes = Object.fromEntries(artifacts.map(({ format, made }) => [format, made?.sha256 ?? '']));
  const event = reportCompleted({ executionId, stored, summary, hashes }, { nowMs, salt });
  const report = { ...document, status: 'completed', dueMs: expiresMs, data: JSON.stringify(done) };
  await settle(services, { report, event, deliveries: (each) => ({ ...each, dueMs: nowMs }) });
}

/** Stores the end of a report with its event and its deliveries. CONFLICT where the lease was lost. */
async function settle(
  services: Services,
  end: {
    readonly report: StoredDocument;
    readonly event: ReturnType<typeof reportCompleted>;
    readonly deliveries: (delivery: StoredDocument) => StoredDocument;
  },
): Promise<void> {
  const { projectId, ...report } = end.report;
  const { documentId: executionId } = report;
  const filter = { kind: deliveryKind, parentId: executionId, status: 'pending' };
  const waiting = await services.store.documents(projectId, filter, { limit: limits.reportDeliveries });
  const changes: DocumentChange[] = [
    { save: report },
    ...waiting.map((each) => {
      const { projectId: _own, ...delivery } = end.deliveries(each);
      return { save: delivery };
    }),
  ];
  try {
    await append(services, {
      projectId,
      leaves: [end.event],
      effects: [{ kind: 'saveDocuments', changes }],
    });
    if (waiting.length > 0) services.wakeScheduler();
  } catch (error) {
    if (error instanceof GovError && error.code === 'PRECONDITION_FAILED')
      throw leaseLost(executionId, error);
    throw error;
  }
}

interface Failure {
  readonly lease: Lease;
  readonly stored: StoredReport;
  readonly error: GovError;
}

async function settleFailure(services: Services, { lease, stored, error }: Failure): Promise<Outcome> {
  const { now, salt, store } = services;
  const document = await lease.release();
  const { projectId, documentId: executionId } = document;
  const summary = errorSummary(error, limits.reportErrorChars);
  const nowMs = now();
  const retryMs = retryAt(error, { made: stored.attempts, most: limits.reportAttempts }, nowMs);
  if (retryMs !== null) {
    // after any number of shutdowns the next process completes it
    const attempts = error.code === 'SHUTTING_DOWN' ? stored.attempts - 1 : stored.attempts;
    const data = JSON.stringify({ ...stored, attempts, errorSummary: summary });
    const { projectId: _own, ...again } = { ...document, status: 'queued', dueMs: retryMs, data };
    return (await store.saveDocuments(projectId, [{ save: again }])) === 'saved' ? 'retried' : 'lost';
  }
  const failed: StoredReport = { ...stored, completedMs: nowMs, errorSummary: summary };
  const { reportTemplateId } = stored;
  const event = reportFailed({ executionId, reportTemplateId, errorSummary: summary }, { nowMs, salt });
  const report = { ...document, status: 'failed', dueMs: null, data: JSON.stringify(failed) };
  await settle(services, { report, event, deliveries: cancelled });
  await removeArtifacts(services, projectId, stored);
  return 'failed';
}

function cancelled(delivery: StoredDocument): StoredDocument {
  const data: StoredDelivery = { ...dataOf<StoredDelivery>(delivery), errorSummary: 'the report failed' };
  return { ...delivery, status: 'cancelled', dueMs: null, data: JSON.stringify(data) };
}

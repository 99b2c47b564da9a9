/**
 * Answers with the artifact of an export, whole or a range (contract K8). Proven by
 * `test/http/answer/exports.test.ts` and `test/http/answer/export-statuses.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { ExportDone, StoredExport } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import type { ByteRange } from '../hosting/artifacts.ts';
import { notFound, type StreamResponse } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import type { Conditions } from '../port/handler.ts';
import { exportDownloaded } from './events.ts';
import { rangedAnswer } from './ranged.ts';
import type { Services } from '../port/services.ts';

interface DownloadRequest {
  readonly exported: StoredExport;
  readonly caller: Caller;
  readonly conditions: Conditions | null;
}

/** EXPORT_NOT_READY, EXPORT_FAILED, EXPORT_EXPIRED; PRECONDITION_FAILED, RANGE_NOT_SATISFIABLE. */
export async function downloadAnswer(services: Services, asked: DownloadRequest): Promise<StreamResponse> {
  const { exported, caller, conditions } = asked;
  const done = downloadable(exported);
  const { exportId, resource, format } = exported;
  const { artifacts } = services.exports;
  const file = {
    digest: done.digest,
    sizeBytes: done.sizeBytes,
    contentType: format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/json',
    // resource and id are ours: words, digits and underscores
    filename: `${resource}-${exportId}.${format}`,
    begin: () => recordDownload(services, exported, caller),
    still: () => stillThere(services, exported),
    read: (range: ByteRange) => readReporting(services, exported, artifacts.read(exported, done, range)),
  };
  return rangedAnswer(file, conditions);
}

/** Reads the artifact and logs an error for the operator. */
async function* readReporting(
  { log }: Services,
  { exportId }: StoredExport,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* chunks;
  } catch (error) {
    log.error({ err: error, exportId }, 'the artifact of an export cannot be read');
    throw error;
  }
}

/**
 * EXPORT_EXPIRED and others once the export has ended, for example by an erasure; the artifact may still be
 * open then.
 */
async function stillThere({ store, now }: Services, { projectId, exportId }: StoredExport): Promise<void> {
  const exported = await store.exported(projectId, exportId, now());
  if (exported === null) throw notFound('export');
  downloadable(exported);
}

type Refusal = 'EXPORT_NOT_READY' | 'EXPORT_FAILED' | 'EXPORT_EXPIRED';

const refusal = (code: Refusal, detail: string): GovError =>
  new GovError(code, detail, {
    errors: [{ pointer: '/exportId', in: 'path', code, detail }],
    ...(code === 'EXPORT_NOT_READY' ? { retryAfterSeconds: 1 } : {}),
  });

export const notReady = ({ exportId, status }: StoredExport): GovError =>
  refusal('EXPORT_NOT_READY', `export ${exportId} is ${status}; wait until it is completed, or cancel it`);

function downloadable(exported: StoredExport): ExportDone {
  const { exportId, status, done, errorSummary } = exported;
  if (status === 'completed' && done !== null) return done;
  switch (status) {
    case 'expired':
      throw refusal('EXPORT_EXPIRED', `export ${exportId} has expired; create it again`);
    case 'failed':
      throw refusal('EXPORT_FAILED', `export ${exportId} failed: ${errorSummary ?? 'no reason was kept'}`);
    case 'cancelled':
      throw refusal('EXPORT_FAILED', `export ${exportId} was cancelled; create it again`);
    case 'pending':
    case 'processing':
    case 'completed':
      throw notReady(exported);
  }
}

/** Records a download once a day. A full disk does not prevent the download. */
async function recordDownload(services: Services, exported: StoredExport, by: Caller): Promise<void> {
  const { now, salt, log, fingerprint } = services;
  const event = exportDownloaded(exported, { nowMs: now(), salt, by });
  const fingerprints = new Map([[0, fingerprint(event.clientEventId ?? '')]]);
  try {
    await append(services, {
      projectId: exported.projectId,
      leaves: [event],
      fingerprints,
    });
  } catch (error) {
    log.warn({ err: error, exportId: exported.exportId }, 'a download could not be recorded');
  }
}

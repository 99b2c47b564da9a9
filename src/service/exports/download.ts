/**
 * Answers with the artifact of an export, whole or a range (contract K8; RFC 9110 §13.2.2, §14; RFC 9530; RFC
 * 6266). A request for several ranges gets the whole artifact, as RFC 9110 §14.2 allows. Proven by
 * `test/http/answer/exports.test.ts` and `test/http/answer/export-statuses.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { ExportDone, StoredExport } from '../../store/port/store.ts';
import { append, unmetered } from '../events/append.ts';
import type { ByteRange } from './artifacts.ts';
import { notFound, type Streamed } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import type { Conditions } from '../call/handler.ts';
import { exportDownloaded } from './events.ts';
import type { Services } from '../dependencies.ts';

interface Asked {
  readonly exported: StoredExport;
  readonly caller: Caller;
  readonly conditions: Conditions | null;
}

const unconditional: Conditions = { range: null, ifRange: null, ifMatch: null, ifNoneMatch: null };

/** EXPORT_NOT_READY, EXPORT_FAILED, EXPORT_EXPIRED; PRECONDITION_FAILED, RANGE_NOT_SATISFIABLE. */
export async function downloadAnswer(services: Services, asked: Asked): Promise<Streamed> {
  const { exported, caller } = asked;
  const done = downloadable(exported);
  const { exportId, resource, format } = exported;
  const etag = `"${done.digest.toString('hex')}"`;
  const conditions = asked.conditions ?? unconditional;
  if (conditions.ifMatch !== null && !matches(conditions.ifMatch, etag, 'strong')) {
    throw new GovError(
      'PRECONDITION_FAILED',
      `expected an If-Match with the export's tag ${etag}; download it again`,
    );
  }
  const always = { etag, 'cache-control': 'no-store', 'accept-ranges': 'bytes' };
  const none = { bytes: 0, chunks: () => nothing(), still: () => Promise.resolve() };
  if (conditions.ifNoneMatch !== null && matches(conditions.ifNoneMatch, etag, 'weak')) {
    return { status: 304, headers: always, ...none };
  }
  const size = done.sizeBytes;
  const range =
    conditions.ifRange === null || conditions.ifRange === etag ? rangeOf(conditions.range, size) : null;
  const { from, to } = range ?? { from: 0, to: size };
  await recordDownload(services, exported, caller);
  return {
    status: range === null ? 200 : 206,
    headers: {
      ...always,
      'content-type': format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/json',
      // resource and id are ours: words, digits and underscores
      'content-disposition': `attachment; filename="${resource}-${exportId}.${format}"`,
      'repr-digest': `sha-256=:${done.digest.toString('base64')}:`,
      'content-security-policy': "default-src 'none'; sandbox",
      ...(range === null ? {} : { 'content-range': `bytes ${from}-${to - 1}/${size}` }),
    },
    bytes: to - from,
    still: () => stillThere(services, exported),
    chunks: () =>
      readReporting(services, exported, services.exports.artifacts.read(exported, done, { from, to })),
  };
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

async function* nothing(): AsyncGenerator<Uint8Array, void, undefined> {}

type Refusal = 'EXPORT_NOT_READY' | 'EXPORT_FAILED' | 'EXPORT_EXPIRED';

const refusal = (code: Refusal, detail: string): GovError =>
  new GovError(code, detail, {
    errors: [{ pointer: '/exportId', in: 'path', code, detail }],
    ...(code === 'EXPORT_NOT_READY' ? { retryAfterSeconds: 1 } : {}),
  });

export const notReady = ({ exportId, status }: StoredExport): GovError =>
  refusal('EXPORT_NOT_READY', `export ${exportId} is ${status}; wait until it is completed`);

function downloadable(exported: StoredExport): ExportDone {
  const { exportId, status, done, errorSummary } = exported;
  if (status === 'completed' && done !== null) return done;
  switch (status) {
    case 'expired':
      throw refusal('EXPORT_EXPIRED', `export ${exportId} has expired; create it again`);
    case 'failed':
      throw refusal('EXPORT_FAILED', `export ${exportId} failed: ${errorSummary ?? 'no reason was kept'}`);
    case 'pending':
    case 'processing':
    case 'completed':
      throw notReady(exported);
  }
}

/** Whether a list of entity tags contains this one (RFC 9110 §8.8.3.2). An attacker controls the list. */
function matches(list: string, etag: string, comparison: 'weak' | 'strong'): boolean {
  if (list.trim() === '*') return true;
  return list.split(',').some((each) => {
    const tag = each.trim();
    return tag === etag || (comparison === 'weak' && tag === `W/${etag}`);
  });
}

const oneRange = /^bytes=[ \t]*([0-9]{0,15})-([0-9]{0,15})[ \t]*$/i;

/**
 * The bytes that a Range header asks for. Null for all of them: without a header, or with one of another
 * form. RANGE_NOT_SATISFIABLE where the range starts after the end. An attacker controls the header.
 */
function rangeOf(header: string | null, size: number): ByteRange | null {
  const [, first = '', last = ''] = oneRange.exec(header ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const wanted = Number(last);
    if (wanted === 0 || size === 0) throw beyond(size);
    return { from: Math.max(0, size - wanted), to: size };
  }
  const from = Number(first);
  const to = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < from) return null;
  if (from >= size) throw beyond(size);
  return { from, to };
}

const beyond = (size: number): GovError =>
  new GovError('RANGE_NOT_SATISFIABLE', `expected a range within ${size} bytes`, { extensions: { size } });

/** Records a download once a day. A full disk does not prevent the download. */
async function recordDownload(services: Services, exported: StoredExport, by: Caller): Promise<void> {
  const { now, salt, log, fingerprint } = services;
  const event = exportDownloaded(exported, { nowMs: now(), salt, by });
  const fingerprints = new Map([[0, fingerprint(event.clientEventId ?? '')]]);
  try {
    await append(services, {
      projectId: exported.projectId,
      leaves: [event],
      meter: unmetered,
      fingerprints,
    });
  } catch (error) {
    log.warn({ err: error, exportId: exported.exportId }, 'a download could not be recorded');
  }
}

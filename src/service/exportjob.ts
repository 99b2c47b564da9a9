/**
 * Builds an export: its artifact beside the recording thread, then one append of result, job and event. A crash before
 * the store answers leaves bytes that nothing names, which the next attempt removes; a worker that lost its lease
 * meanwhile is refused. Proven by `test/service/exports.test.ts`.
 */
import { limits } from '../contract/limits.ts';
import { hashText } from '../core/hash.ts';
import type { ClaimedJob, StoredExport } from '../store/port.ts';
import { append, unmetered } from './append.ts';
import type { ExportManifest } from '../contract/exports.ts';
import { exportCompleted } from './exportevents.ts';
import type { Services } from './services.ts';
import type { ExportOutput } from './work.ts';

/** What the job of an export keeps beside the row of it: the root of the log when it was asked for, base64. */
export interface ExportJobRequest {
  readonly rootHash: string;
}

/** CONFLICT where the lease was lost, STORAGE_FULL, and what reading the log refuses with. */
export async function runExport(services: Services, job: ClaimedJob): Promise<void> {
  const { store, now, exports, checkpoints } = services;
  const { projectId, resultId: exportId } = job;
  const exported = exportId === null ? null : await store.exported(projectId, exportId, now());
  if (exported === null) throw new Error(`job ${job.jobId} names no export`);
  const { rootHash } = JSON.parse(job.request) as ExportJobRequest; // as `createExport` wrote it
  const root = Buffer.from(rootHash, 'base64');
  const writer = await exports.artifacts.create(exported);
  try {
    const { includeProof: isProved, ...asked } = exported;
    const input = { ...asked, root, isProved };
    const host = {
      write: (bytes: Uint8Array) => writer.write(bytes),
      sign: async () => (await checkpoints.sign(projectId)).note,
    };
    // one after the other, however few its rows are
    const built = await exports.work.run('export', input, { events: limits.syncProofEvents + 1, host });
    await complete(services, job, { exported, built, rootHash, artifact: await writer.finish() });
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

interface Built {
  readonly exported: StoredExport;
  readonly built: ExportOutput;
  readonly rootHash: string;
  readonly artifact: string;
}

async function complete(services: Services, job: ClaimedJob, { exported, built, rootHash, artifact }: Built) {
  const { now, salt, exports } = services;
  const { projectId, jobId, lease } = job;
  const { exportId, treeSize } = exported;
  const { rowCount, sizeBytes, firstSequence, lastSequence } = built;
  const digest = Buffer.from(built.digest);
  const manifest: ExportManifest = { treeSize, rootHash, firstSequence, lastSequence };
  const completedMs = now();
  const expiresMs = completedMs + exports.keptMs;
  const done = {
    artifact,
    rowCount,
    sizeBytes,
    digest,
    manifest: JSON.stringify(manifest),
    completedMs,
    expiresMs,
  };
  const told = { exported, rowCount, sizeBytes, sha256: hashText(digest), manifest };
  await append(services, {
    projectId,
    leaves: [exportCompleted(told, { nowMs: completedMs, salt })],
    meter: unmetered,
    effects: [
      { kind: 'finishExport', exportId, done },
      { kind: 'completeJob', jobId, lease, result: 'null', atMs: completedMs },
    ],
  });
}

/**
 * Builds an export: writes its artifact in a worker thread, then appends result, job and event at once. A
 * crash before the store answers leaves bytes without a name, which the next attempt deletes. The store
 * refuses a worker that lost its lease. Proven by `test/service/exports/handlers.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { hashText } from '../../core/hash.ts';
import type { ClaimedJob, StoredExport } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import type { ExportManifest } from '../../contract/exports.ts';
import { exportCompleted } from './events.ts';
import { prunedBelow } from '../events/run-stream.ts';
import { Room } from './room.ts';
import { LostLeaseError } from '../jobs/lease-lost.ts';
import type { Services } from '../port/services.ts';
import type { ExportOutput, ListedKeys, ListQuestion } from '../call/work.ts';

/**
 * The request that the job stores in addition to the export's row: the root of the log at that time, base64.
 */
export interface ExportJobRequest {
  readonly rootHash: string;
  /**
   * When the newest existing job was created. Later than the export's own time where the clock was set back.
   */
  readonly jobsUntilMs: number;
}

/** CONFLICT where the lease was lost, STORAGE_FULL, EXPORT_LIMIT, and errors of reading the log. */
export async function runExport(services: Services, job: ClaimedJob, signal: AbortSignal): Promise<void> {
  const { store, now, exports } = services;
  const { projectId, resultId: exportId } = job;
  const exported = exportId === null ? null : await store.exported(projectId, exportId, now());
  if (exported === null) throw new Error(`expected an export in job ${job.jobId}, got none`);
  if (exported.done !== null) throw new LostLeaseError(`job ${job.jobId}`);
  const { rootHash, jobsUntilMs } = JSON.parse(job.request) as ExportJobRequest; // `createExport` wrote it
  const root = Buffer.from(rootHash, 'base64');
  // the next `create` deletes parts of earlier attempts, so only the last attempt must clean up here
  const untilMs = now() + limits.jobLeaseSeconds * 1000;
  if (!(await store.renewJob(projectId, job.jobId, job.lease, untilMs)))
    throw new LostLeaseError(`job ${job.jobId}`);
  const room = new Room(services, projectId);
  const writer = await exports.artifacts.create(exported);
  let writing: Promise<unknown> = Promise.resolve();
  try {
    const pruned = await store.prunedBelow(projectId);
    const { includeProof: isProved, ...asked } = exported;
    const prunedBelow = exported.resource === 'audit_events' ? Math.min(pruned, exported.treeSize) : 0;
    const input = { ...asked, root, isProved, prunedBelow, jobsUntilMs };
    const write = async (bytes: Uint8Array): Promise<Uint8Array> => {
      await room.take(bytes.length);
      await writer.write(bytes);
      return bytes;
    };
    const host = {
      write: (bytes: Uint8Array) => (writing = write(bytes)),
      sign: () => witnessedNote(services, projectId),
      listed: (asked: ListQuestion) => listed(services, projectId, asked),
    };
    // counts as large however few its rows are, so that exports run one after the other
    const built = await exports.work.run('export', input, {
      events: limits.syncProofEvents + 1,
      host,
      signal,
    });
    // pages read before and after a prune are not of one moment
    if ((await store.prunedBelow(projectId)) !== pruned) throw prunedMeanwhile(null);
    const artifact = await writer.finish();
    await complete(services, job, { exported, built, rootHash, prunedBelow, artifact });
  } catch (error) {
    // a thread that ended may leave its last chunk in progress
    await writing.catch(() => {});
    await writer.abort().catch((cause: unknown) => {
      services.log.warn({ err: cause, exportId }, 'parts of an artifact could not be removed yet');
    });
    throw prunedBelow(error) === null ? error : prunedMeanwhile(error);
  }
}

/**
 * Signs the current log. An artifact never changes later, so this waits for the witnesses and uses a
 * checkpoint of at least this size that they cosigned; without one, the checkpoint that only the log signed.
 */
export async function witnessedNote(
  { checkpoints, witnesses, store }: Services,
  projectId: string,
): Promise<string> {
  const signed = await checkpoints.sign(projectId);
  if (witnesses === undefined) return signed.note;
  await witnesses.cosigned(projectId, signed, limits.witnessWaitSeconds);
  return (await store.witnessedCheckpoint(projectId, 'audit', signed.checkpoint.size)) ?? signed.note;
}

/** What the index of the log says of lists; the index leaf that covers them is appended where the log has none. */
async function listed(
  { checkpoints, indexer }: Services,
  projectId: string,
  asked: ListQuestion,
): Promise<ListedKeys | null> {
  const { size, root } = (await checkpoints.sign(projectId)).checkpoint;
  const found = await indexer.index({ projectId, mode: 'leaf', signed: { size, root }, ...asked });
  if (found === null || found.leafIndex === null) return null;
  return { ...found, leafIndex: found.leafIndex };
}

/** The next attempt skips pruned events, as every read does. */
const prunedMeanwhile = (cause: unknown): GovError =>
  new GovError('UNAVAILABLE', 'events were pruned while the export was built; the build starts again', {
    cause,
  });

interface BuiltExport {
  readonly exported: StoredExport;
  readonly built: ExportOutput;
  readonly rootHash: string;
  readonly prunedBelow: number;
  readonly artifact: string;
}

async function complete(
  services: Services,
  job: ClaimedJob,
  { exported, built, rootHash, prunedBelow, artifact }: BuiltExport,
) {
  const { now, salt, exports } = services;
  const { projectId, jobId, lease } = job;
  const { exportId, treeSize } = exported;
  const { rowCount, sizeBytes, firstSequence, lastSequence } = built;
  const digest = Buffer.from(built.digest);
  const manifest: ExportManifest = {
    treeSize,
    rootHash,
    firstSequence,
    lastSequence,
    ...(prunedBelow === 0 ? {} : { prunedBelow }),
  };
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
    effects: [
      { kind: 'finishExport', most: exports.most, exportId, done },
      { kind: 'completeJob', jobId, lease, result: 'null', atMs: completedMs },
    ],
  });
}

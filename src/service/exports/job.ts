/**
 * Builds an export: its artifact beside the recording thread, then one append of result, job and event. A crash before
 * the store answers leaves bytes that nothing names, which the next attempt removes; a worker that lost its lease
 * meanwhile is refused. Proven by `test/service/exports/handlers.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { hashText } from '../../core/hash.ts';
import type { ClaimedJob, StoredExport } from '../../store/port/store.ts';
import { append, unmetered } from '../events/append.ts';
import type { ExportManifest } from '../../contract/exports.ts';
import { exportCompleted } from './events.ts';
import { prunedBelow } from '../events/run-stream.ts';
import { Room } from './room.ts';
import type { Services } from '../dependencies.ts';
import type { ExportOutput } from '../call/work.ts';

/** What the job of an export keeps beside the row of it: the root of the log when it was asked for, base64. */
export interface ExportJobRequest {
  readonly rootHash: string;
  /** When the newest job was made that was there then: later than the export's own time where the clock was set back. */
  readonly jobsUntilMs: number;
}

/** CONFLICT where the lease was lost, STORAGE_FULL, EXPORT_LIMIT, and what reading the log refuses with. */
export async function runExport(services: Services, job: ClaimedJob): Promise<void> {
  const { store, now, exports } = services;
  const { projectId, resultId: exportId } = job;
  const exported = exportId === null ? null : await store.exported(projectId, exportId, now());
  if (exported === null) throw new Error(`job ${job.jobId} names no export`);
  if (exported.done !== null) throw leaseLost(job);
  const { rootHash, jobsUntilMs } = JSON.parse(job.request) as ExportJobRequest; // as `createExport` wrote it
  const root = Buffer.from(rootHash, 'base64');
  // what is created next takes away what others made: of an attempt that is not the last one, nothing
  const untilMs = now() + limits.jobLeaseSeconds * 1000;
  if (!(await store.renewJob(projectId, job.jobId, job.lease, untilMs))) throw leaseLost(job);
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
    };
    // one after the other, however few its rows are
    const built = await exports.work.run('export', input, { events: limits.syncProofEvents + 1, host });
    // pages that were read before and after it are of no one moment
    if ((await store.prunedBelow(projectId)) !== pruned) throw prunedMeanwhile(null);
    const artifact = await writer.finish();
    await complete(services, job, { exported, built, rootHash, prunedBelow, artifact });
  } catch (error) {
    // a thread that is ended leaves its last chunk on the way
    await writing.catch(() => {});
    await writer.abort().catch((cause: unknown) => {
      services.log.warn({ err: cause, exportId }, 'what was begun of an artifact could not be removed yet');
    });
    throw prunedBelow(error) === null ? error : prunedMeanwhile(error);
  }
}

/**
 * Signs the log as it stands. An artifact is never changed again, so the witnesses are waited for: a checkpoint that they
 * cosigned, of this size or behind it, else the one that is signed alone.
 */
async function witnessedNote(
  { checkpoints, witnesses, store }: Services,
  projectId: string,
): Promise<string> {
  const signed = await checkpoints.sign(projectId);
  if (witnesses === undefined) return signed.note;
  await witnesses.cosigned(projectId, signed, limits.witnessWaitSeconds);
  return (await store.witnessedCheckpoint(projectId, 'audit', signed.checkpoint.size)) ?? signed.note;
}

/** The next attempt leaves out what was pruned, as every read does. */
const prunedMeanwhile = (cause: unknown): GovError =>
  new GovError('OVERLOADED', 'events were pruned while the export was built, which begins anew', { cause });

const leaseLost = ({ jobId }: ClaimedJob): GovError =>
  new GovError('CONFLICT', `job ${jobId} was given to another worker`);

interface Built {
  readonly exported: StoredExport;
  readonly built: ExportOutput;
  readonly rootHash: string;
  readonly prunedBelow: number;
  readonly artifact: string;
}

async function complete(
  services: Services,
  job: ClaimedJob,
  { exported, built, rootHash, prunedBelow, artifact }: Built,
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
    meter: unmetered,
    effects: [
      { kind: 'finishExport', most: exports.most, exportId, done },
      { kind: 'completeJob', jobId, lease, result: 'null', atMs: completedMs },
    ],
  });
}

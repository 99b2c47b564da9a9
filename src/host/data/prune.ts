/**
 * `gov log prune` (docs/how-to/keep-and-prune.md): moves the events of a project before a time into an archive.
 * It writes the archive, reads it back and checks it, appends a `gov.prune/1` leaf, and only then drops the
 * events, 2000 at a time. Hash tiles, events of the service itself, and all other records stay. A crash before
 * the leaf leaves only an archive. A crash after it leaves events that the next pruning drops. Proven by
 * `test/host/data/prune.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { draftPrune, type PruneRecord } from '../../core/decided/prune.ts';
import { hashText } from '../../core/hash.ts';
import { pathText } from '../../core/proofs/bundle.ts';
import { formatTimestamp } from '../../core/time.ts';
import { append } from '../../service/writes/append.ts';
import { standingSettings } from '../../service/erasure/erase.ts';
import type { Services } from '../../service/port/services.ts';
import { logPruned } from '../../service/writes/system.ts';
import { consistencyAt, peaksAt, rootAt } from '../../service/log/tree-proofs.ts';
import type { Project } from '../../store/port/store.ts';
import { buildIfWhole } from './build-index.ts';
import { archiveMediaType, verifyArchive, writeArchive, type ArchivedLeaf } from './log-archive.ts';

const dayMs = 86_400_000;
/** Number of leaves read or dropped at a time. */
const atOnce = 2000;

export interface PruneOptions {
  readonly projectId: string;
  readonly beforeMs: number;
  /** Path of the new archive. */
  readonly archive: string;
  /** Returns the range that would be pruned, and changes nothing. */
  readonly dryRun: boolean;
}

export interface PruneResult {
  readonly projectId: string;
  /** Leaves [from, to). Empty where they are equal. */
  readonly from: number;
  readonly to: number;
  readonly archive: string | null;
  readonly archiveHash: string | null;
  readonly archiveBytes: number;
}

/**
 * Prunes a project. NOT_FOUND. CONFLICT under a legal hold, during an export, or where the archive exists.
 * VALIDATION_ERROR for a time within the minimum retention.
 */
export async function pruneLog(services: Services, options: PruneOptions): Promise<PruneResult> {
  const { store } = services;
  const { projectId, archive } = options;
  const project = await store.project(projectId);
  if (project === null) throw new GovError('NOT_FOUND', `no project has the id ${projectId}`);
  await refuseKept(services, project, options.beforeMs);
  const from = await store.prunedBelow(projectId);
  const to = Math.max(from, await firstAt(services, projectId, options.beforeMs));
  const nothing = { projectId, from, to, archive: null, archiveHash: null, archiveBytes: 0 };
  if (options.dryRun) return nothing;
  await refuseExporting(services, projectId);
  if (to === from) {
    await drop(services, projectId, { from: 0, to });
    return nothing;
  }
  await buildIfWhole(services, projectId); // later its leaves are in the archive alone
  const root = await rootAt(store, projectId, to);
  const archived = await writeChecked(services, project, { from, to, root, archive });
  const nowMs = services.now();
  const record: PruneRecord = {
    minIndex: to,
    rootAtMinIndex: hashText(root),
    archiveHash: archived.hash,
    archiveSize: archived.bytes,
    reasonCode: 'operator',
    prunedAt: formatTimestamp(nowMs),
  };
  await append(services, {
    projectId,
    leaves: [draftPrune(record), logPruned(record, { nowMs, salt: services.salt })],
    effects: [{ kind: 'prune', minIndex: to, root, leaf: 0 }],
  });
  await services.checkpoints.sign(projectId);
  await drop(services, projectId, { from: 0, to });
  return { ...nothing, archive, archiveHash: archived.hash, archiveBytes: archived.bytes };
}

async function refuseKept(services: Services, project: Project, beforeMs: number): Promise<void> {
  const { settings } = await standingSettings(services, project);
  if (settings.legalHold) {
    throw new GovError(
      'CONFLICT',
      `expected no legal hold on project ${project.projectId}; while it is set, nothing is pruned`,
    );
  }
  const least = project.environment === 'production' ? limits.retentionDaysProduction : 0;
  const latest = services.now() - least * dayMs;
  if (beforeMs <= latest) return;
  const detail = `expected a time of ${formatTimestamp(latest)} or before: ${least} days are kept in ${project.environment}`;
  throw new GovError('VALIDATION_ERROR', `--before: ${detail}, got ${formatTimestamp(beforeMs)}`);
}

/** Refuses while an export is open, because an export contains all events from its start. */
async function refuseExporting({ store, now }: Services, projectId: string): Promise<void> {
  for (const status of ['pending', 'processing'] as const) {
    for (const resource of ['audit_events', 'replays'] as const) {
      const [open] = await store.exports(projectId, { resource, status, atMs: now() }, { limit: 1 });
      if (open === undefined) continue;
      const detail = `expected no export of ${resource} that is not complete, got ${open.exportId}; wait until it is`;
      throw new GovError('CONFLICT', detail);
    }
  }
}

/**
 * The first leaf appended at a time or later. Binary search in the metering log, whose leaves all have a time.
 * Cost: O(log n) reads.
 */
async function firstAt({ store }: Services, projectId: string, atMs: number): Promise<number> {
  const { size } = await store.head(projectId, 'metering');
  let low = 0;
  let high = size;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const leaf = await store.meterLeaf(projectId, middle);
    const { at = '' } = JSON.parse(leaf?.record ?? '{}') as { at?: string };
    if (Date.parse(at) < atMs) low = middle + 1;
    else high = middle;
  }
  const found = low === size ? null : await store.meterLeaf(projectId, low);
  return found?.firstAuditIndex ?? (await store.head(projectId, 'audit')).size;
}

async function writeChecked(
  services: Services,
  { projectId, auditOrigin }: Project,
  { from, to, root, archive }: { from: number; to: number; root: Buffer; archive: string },
) {
  const { store, checkpoints, verifierKeys } = services;
  const { checkpoint, note } = await checkpoints.sign(projectId);
  const consistency = await consistencyAt(store, projectId, { first: to, second: checkpoint.size });
  const head = {
    mediaType: archiveMediaType,
    origin: auditOrigin,
    projectId,
    from,
    to,
    before: from === 0 ? [] : pathText(await peaksAt(store, projectId, from)),
    root: hashText(root),
    checkpoint: note,
    consistency: pathText(consistency),
  } as const;
  await writeArchive(archive, head, leavesOf(services, projectId, { from, to }));
  return verifyArchive(archive, verifierKeys(auditOrigin));
}

async function* leavesOf(
  { store }: Services,
  projectId: string,
  { from, to }: { from: number; to: number },
): AsyncGenerator<ArchivedLeaf, void> {
  for (let at = from; at < to; at += atOnce) {
    const leaves = await store.leaves(projectId, 'audit', { from: at, to: Math.min(to, at + atOnce) });
    for (const { index, record, disclosures, erased = null } of leaves) {
      yield { index, record, disclosures, erased };
    }
  }
}

async function drop(
  { store }: Services,
  projectId: string,
  { from, to }: { from: number; to: number },
): Promise<void> {
  for (let at = from; at < to; at += atOnce) {
    await store.dropPruned(projectId, { from: at, to: Math.min(to, at + atOnce) });
  }
}

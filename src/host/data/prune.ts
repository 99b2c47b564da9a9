/**
 * `gov log prune` (docs/how-to/keep-and-prune.md): the events of a project below a time go into an archive, which is read back and
 * checked, then a `gov.prune/1` leaf says so, and only then are they dropped, some thousands at a time. Hash tiles, the
 * events of the service itself and everything that is no event stay. A crash before the leaf leaves an archive and nothing
 * else; one after it leaves events that the next pruning drops. Proven by `test/host/data/prune.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { draftPrune, type PruneRecord } from '../../core/decided/prune.ts';
import { hashText } from '../../core/hash.ts';
import { pathText } from '../../core/proof/bundle.ts';
import { formatTimestamp } from '../../core/time.ts';
import { append, unmetered } from '../../service/events/append.ts';
import { standingSettings } from '../../service/erasure/erase.ts';
import type { Services } from '../../service/dependencies.ts';
import { logPruned } from '../../service/system.ts';
import { consistencyAt, peaksAt, rootAt } from '../../service/log/tree-proofs.ts';
import type { Project } from '../../store/port/store.ts';
import { archiveMediaType, verifyArchive, writeArchive, type ArchivedLeaf } from './log-archive.ts';

const dayMs = 86_400_000;
/** Leaves read, or dropped, at a time. */
const atOnce = 2000;

export interface PruneOptions {
  readonly projectId: string;
  readonly beforeMs: number;
  /** Where the archive is written. */
  readonly archive: string;
  /** Says what would be pruned, and changes nothing. */
  readonly dryRun: boolean;
}

export interface Pruned {
  readonly projectId: string;
  /** Leaves [from, to); nothing where they are equal. */
  readonly from: number;
  readonly to: number;
  readonly archive: string | null;
  readonly archiveHash: string | null;
  readonly archiveBytes: number;
}

/** NOT_FOUND; CONFLICT under a legal hold, while exports are made, or where the archive exists; VALIDATION_ERROR for what is to be kept longer. */
export async function pruneLog(services: Services, options: PruneOptions): Promise<Pruned> {
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
    meter: unmetered,
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
      `expected no legal hold on project ${project.projectId}; while it is set nothing goes`,
    );
  }
  const least = project.environment === 'production' ? limits.retentionDaysProduction : 0;
  const latest = services.now() - least * dayMs;
  if (beforeMs <= latest) return;
  const detail = `expected a time of ${formatTimestamp(latest)} or before: ${least} days are kept in ${project.environment}`;
  throw new GovError('VALIDATION_ERROR', `--before: ${detail}, got ${formatTimestamp(beforeMs)}`);
}

/** Whoever asked for a file of what is there gets all of it: what would go is waited for. */
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

/** The first leaf that was appended at a time or later: by halves of the metering log, whose leaves all have one. */
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

/**
 * `GET /operations/integrity` (contract N10): whether the stored log of the project is whole, copied and signed. Backups, fsck and
 * disk belong to the operator, so a hosted service answers null for them. Proven by
 * `test/service/operations/scrubber.test.ts` and `test/plane/serve/upkeep.test.ts`.
 */
import type { Integrity } from '../../contract/operations.ts';
import { limits } from '../../contract/limits.ts';
import { openCheckpoint } from '../../core/note/checkpoint.ts';
import { parseVerifierKey } from '../../core/note/key.ts';
import { openNote } from '../../core/note/signed.ts';
import { formatTimestamp } from '../../core/time.ts';
import { GovError } from '../../contract/problems.ts';
import type { Project } from '../../store/port/store.ts';
import type { TreeName } from '../../store/port/store.ts';
import type { Handlers } from '../port/handler.ts';
import { newestLogTime } from '../call/log-time.ts';
import type { Services } from '../port/services.ts';
import { scrubReasons } from './reasons.ts';
import { readScrub, scrubId, scrubKind, type ScrubState } from './scrub-state.ts';
import { ownCheckpoint } from './scrub.ts';
import type { Upkeep } from '../hosting/upkeep.ts';

const dayMs = 86_400_000;
/** Checkpoints that are looked through for the newest cosigned one. */
const lookedAt = 50;

export const operations: Pick<Handlers, 'getIntegrity'> = {
  async getIntegrity({ caller }, services) {
    const { store, now } = services;
    const { project } = caller;
    const kept = await store.document(project.projectId, scrubKind, scrubId);
    const state = kept === null ? null : readScrub(kept.data);
    const upkeep = services.upkeep?.() ?? null;
    const checkpoints = [
      await signedLog(services, project, 'audit'),
      await signedLog(services, project, 'metering'),
    ];
    const clockReasons = (services.degraded?.() ?? []).filter((each) => each.startsWith('clock_skew:'));
    const reasons = [
      ...scrubReasons(state, now()),
      ...(upkeep === null ? [] : upkeepReasons(upkeep, now())),
      ...(services.checkpoints.fresh() ? [] : ['checkpoint_stale']),
      ...clockReasons,
    ];
    const body: Integrity = {
      status: reasons.length === 0 ? 'ok' : 'attention',
      reasons,
      time: formatTimestamp(now()),
      scrub: kept === null || state === null ? null : shownScrub(state, kept.dueMs),
      fsck: upkeep === null ? null : shownFsck(upkeep),
      backup: upkeep === null ? null : shownBackup(upkeep, now()),
      checkpoints,
      clock: { reasons: clockReasons, newestAt: await newestTime(services, project.projectId) },
      disk: upkeep?.disk ?? null,
    };
    return { status: 200, body };
  },
};

function upkeepReasons({ fsck, backup, disk, isBackupPresent }: Upkeep, nowMs: number): string[] {
  const reasons: string[] = [];
  if (fsck?.ok === false) {
    const at = formatTimestamp(fsck.atMs);
    reasons.push(`fsck_failed: gov log fsck found ${fsck.found} altered places at ${at}`);
  }
  if (backup === null) reasons.push('backup_missing: no backup is known; make one: gov plane backup');
  else if (nowMs - backup.createdMs > limits.backupDays * dayMs)
    reasons.push(`backup_old: the newest backup is of ${formatTimestamp(backup.createdMs)}`);
  else if (!isBackupPresent)
    reasons.push(
      `backup_missing: the newest backup is no longer in ${backup.out}, or this user may not read it`,
    );
  if (disk?.daysLeft !== null && disk?.daysLeft !== undefined && disk.daysLeft < 30)
    reasons.push(`disk_space_low: ${disk.daysLeft} days left`);
  return reasons;
}

function shownScrub(state: ScrubState, dueMs: number | null): NonNullable<Integrity['scrub']> | null {
  if (state.startedMs === 0) return null;
  const { reading, last, found, findings, startedMs } = state;
  return {
    state: reading === null ? 'waiting' : 'reading',
    startedAt: formatTimestamp(startedMs),
    reading: reading === null ? null : { tree: reading.tree, read: reading.from, of: reading.size },
    nextAt: reading === null && dueMs !== null ? formatTimestamp(dueMs) : null,
    found,
    findings: findings.map(({ tree, index, detail, atMs }) => ({
      tree,
      index,
      detail,
      foundAt: formatTimestamp(atMs),
    })),
    last:
      last === null
        ? null
        : {
            startedAt: formatTimestamp(last.startedMs),
            completedAt: formatTimestamp(last.completedMs),
            leaves: last.leaves,
            found: last.found,
          },
  };
}

function shownFsck({ fsck }: Upkeep): Integrity['fsck'] {
  if (fsck === null) return null;
  const { atMs, ok, found, leaves, deep } = fsck;
  return { at: formatTimestamp(atMs), ok, found, leaves, deep };
}

function shownBackup({ backup, isBackupPresent }: Upkeep, nowMs: number): Integrity['backup'] {
  if (backup === null) return null;
  const { createdMs, out, withKeys, leaves } = backup;
  return {
    createdAt: formatTimestamp(createdMs),
    ageSeconds: secondsSince(createdMs, nowMs),
    out,
    withKeys,
    // gov plane backup fails where it cannot check its copy
    verified: true,
    present: isBackupPresent,
    leaves,
  };
}

const secondsSince = (ms: number, nowMs: number): number => Math.max(0, Math.floor((nowMs - ms) / 1000));

async function signedLog(
  services: Services,
  project: Project,
  tree: TreeName,
): Promise<Integrity['checkpoints'][number]> {
  const { store } = services;
  const { projectId } = project;
  const leaves = (await store.head(projectId, tree)).size;
  const note = await store.newestCheckpoint(projectId, tree);
  if (note === null) return { tree, leaves, signed: null, witnessed: null };
  const opened = ownCheckpoint(note);
  // the scrub reports it
  if (typeof opened === 'string') return { tree, leaves, signed: null, witnessed: null };
  const { size } = opened;
  const signedMs = signedTime(
    services,
    note,
    tree === 'audit' ? project.auditOrigin : project.meteringOrigin,
  );
  const signed = {
    size,
    signedAt: signedMs === null ? null : formatTimestamp(signedMs),
    ageSeconds: signedMs === null ? null : secondsSince(signedMs, services.now()),
  };
  return { tree, leaves, signed, witnessed: await witnessedOf(services, { projectId, tree, note }) };
}

/** Unix milliseconds; null where no valid signature of the log binds a time. */
function signedTime({ verifierKeys }: Services, note: string, origin: string): number | null {
  try {
    const { signedBy } = openCheckpoint(note, verifierKeys(origin).map(parseVerifierKey), origin);
    const seconds = Math.max(0, ...signedBy.map(({ timestampSeconds }) => timestampSeconds ?? 0));
    return seconds === 0 ? null : seconds * 1000;
  } catch (error) {
    if (error instanceof GovError) return null; // the scrub reports a signature that does not verify
    throw error;
  }
}

/** The newest checkpoint with a cosignature of a configured witness, among the last `lookedAt` ones. */
async function witnessedOf(
  { store, witnesses }: Services,
  { projectId, tree, note }: { readonly projectId: string; readonly tree: TreeName; readonly note: string },
): Promise<Integrity['checkpoints'][number]['witnessed']> {
  if (witnesses === undefined || tree !== 'audit') return null;
  const keys = witnesses.verifierKeys.map(parseVerifierKey);
  let looked: string | null = note;
  for (let at = 0; at < lookedAt && looked !== null; at++) {
    const opened = ownCheckpoint(looked);
    if (typeof opened === 'string') return null;
    const { size } = opened;
    const count = cosigners(looked, keys);
    if (count > 0) return { size, witnesses: count };
    looked = await store.checkpointBelow(projectId, tree, size);
  }
  return null;
}

function cosigners(note: string, keys: readonly ReturnType<typeof parseVerifierKey>[]): number {
  try {
    return new Set(openNote(note, keys).verified.map(({ name }) => name)).size;
  } catch (error) {
    if (error instanceof GovError) return 0;
    throw error;
  }
}

/** Every append has a metering leaf with its time. */
async function newestTime(services: Services, projectId: string): Promise<string | null> {
  const ms = await newestLogTime(services, projectId);
  return ms === null ? null : formatTimestamp(ms);
}

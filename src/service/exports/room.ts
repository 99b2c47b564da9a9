/**
 * Limits the room of artifacts, which share a disk with recording. A build stops where less than
 * `limits.exportSpareBytes` would remain free. While recording itself needs room, the oldest artifacts of all
 * projects end early, because they can be built again. Each project has a limit of its own. Proven by
 * `test/service/exports/room.test.ts` and `test/service/exports/full.long.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { ExportName } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import { exportEnded, exportFailed } from './events.ts';
import type { Services } from '../port/services.ts';

/** The bytes that one build may still write. */
export class Room {
  readonly #services: Services;
  readonly #projectId: string;
  /** Null until the build may write. */
  #left: number | null = null;

  constructor(services: Services, projectId: string) {
    this.#services = services;
    this.#projectId = projectId;
  }

  /**
   * Call it before writing `bytes` more. EXPORT_LIMIT where the project keeps too many bytes, STORAGE_FULL
   * where the disk has no room.
   */
  async take(bytes: number): Promise<void> {
    const { store, exports } = this.#services;
    const most = exports.most.keptBytes;
    this.#left ??= most - (await store.heldExports(this.#projectId)).keptBytes;
    this.#left -= bytes;
    if (this.#left < 0) {
      throw new GovError(
        'EXPORT_LIMIT',
        `expected at most ${most} bytes of exports in the project, got more with this one; export less, or ` +
          'delete exports that are not needed, then create it again',
      );
    }
    const free = await exports.artifacts.freeBytes();
    if (free === null || free - bytes >= limits.exportSpareBytes) return;
    throw new GovError(
      'STORAGE_FULL',
      `the disk has no room for the artifact: less than ${limits.exportSpareBytes} bytes would be left, which ` +
        'recording may need; free some, then create the export again',
    );
  }
}

/**
 * Ends the oldest exports while the disk is low, until recording has enough room. Ends none where all of them
 * together would not suffice, and none that is too small to matter. Each end is an event in its project's
 * log.
 */
export async function makeRoom(services: Services): Promise<void> {
  const { store, now, exports } = services;
  const free = await exports.artifacts.freeBytes();
  if (free === null) return;
  const removed = removedOf(store);
  if (free < limits.exportSpareBytes) {
    const found = await store.oldestExports(now(), { leastBytes, limit: limits.exportsKeptMax });
    const goals = [limits.exportSpareBytes - free, limits.exportNeededBytes - free];
    // removes files first, because a full disk may refuse any other change
    for (const each of enough(found, goals)) {
      await exports.artifacts.remove(each);
      removed.set(each.exportId, each);
    }
  }
  for (const each of removed.values()) {
    await endEarly(services, each);
    removed.delete(each.exportId);
  }
}

const leastBytes = limits.exportMattersBytes;

/** Removed artifacts whose exports are not marked as ended yet. Downloads report them as missing. */
const unmarked = new WeakMap<Services['store'], Map<string, ExportName>>();

function removedOf(store: Services['store']): Map<string, ExportName> {
  const found = unmarked.get(store) ?? new Map<string, ExportName>();
  unmarked.set(store, found);
  return found;
}

/** The shortest list from the start whose bytes reach one of the goals; empty where all of them do not. */
function enough<Sized extends { readonly sizeBytes: number }>(
  found: readonly Sized[],
  goals: readonly number[],
): readonly Sized[] {
  const all = found.reduce((bytes, { sizeBytes }) => bytes + sizeBytes, 0);
  const goal = goals.find((bytes) => bytes > 0 && bytes <= all);
  if (goal === undefined) return [];
  let bytes = 0;
  return found.filter(({ sizeBytes }) => {
    if (bytes >= goal) return false;
    bytes += sizeBytes;
    return true;
  });
}

async function endEarly(services: Services, { projectId, exportId }: ExportName): Promise<void> {
  const { store, now, salt, fingerprint, log } = services;
  const nowMs = now();
  await store.expireExport(projectId, exportId, nowMs);
  await store.markExportRemoved(projectId, exportId);
  log.warn({ projectId, exportId }, 'an export ended early because the disk is low; it can be created again');
  const event = exportEnded({ exportId, reason: 'disk_low' }, { nowMs, salt });
  const fingerprints = new Map([[0, fingerprint(event.clientEventId ?? '')]]);
  await append(services, { projectId, leaves: [event], fingerprints }).catch((error: unknown) =>
    log.warn({ err: error, exportId }, 'the end of an export could not be recorded'),
  );
}

/** Removes the artifact of an export for good. */
export async function removeExport(services: Services, { projectId, exportId }: ExportName): Promise<void> {
  const { store, now, salt, fingerprint, exports } = services;
  // first, because it frees room for the following write
  await exports.artifacts.remove({ projectId, exportId });
  const exported = await store.exported(projectId, exportId, now());
  if (exported?.status === 'failed') {
    const failed = { exportId, errorSummary: exported.errorSummary ?? '' };
    const event = exportFailed(failed, { nowMs: now(), salt });
    const fingerprints = new Map([[0, fingerprint(event.clientEventId ?? '')]]);
    await append(services, { projectId, leaves: [event], fingerprints });
  }
  await store.markExportRemoved(projectId, exportId);
}

/**
 * Room for artifacts. They lie where recording writes, so they stop well before it has to: a build ends once less than
 * `limits.exportSpareBytes` would be left, and while recording itself is in need the artifacts that were finished first
 * end before their time, of all projects, since they can be made again. What one project keeps is bounded.
 * Proven by `test/service/exports/room.test.ts` and `test/service/exports/full.long.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { ExportName } from '../../store/port/store.ts';
import { append, unmetered } from '../events/append.ts';
import { exportEnded, exportFailed } from './events.ts';
import type { Services } from '../dependencies.ts';

/** What one build may still write. */
export class Room {
  readonly #services: Services;
  readonly #projectId: string;
  /** Null until its turn to write has come. */
  #left: number | null = null;

  constructor(services: Services, projectId: string) {
    this.#services = services;
    this.#projectId = projectId;
  }

  /** Before so many bytes are written. EXPORT_LIMIT where the project keeps too many by then; STORAGE_FULL. */
  async take(bytes: number): Promise<void> {
    const { store, exports } = this.#services;
    const most = exports.most.keptBytes;
    this.#left ??= most - (await store.heldExports(this.#projectId)).keptBytes;
    this.#left -= bytes;
    if (this.#left < 0) {
      throw new GovError(
        'EXPORT_LIMIT',
        `expected at most ${most} bytes of exports that a project keeps, got more with this one; export less, or ` +
          'delete others that are not needed, then create it again',
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
 * Where the disk is low: ends what was finished first, until recording has what it needs; nothing where all of it would not
 * be enough, and nothing that is too small to matter. Each is told in the log of its project.
 */
export async function makeRoom(services: Services): Promise<void> {
  const { store, now, exports } = services;
  const free = await exports.artifacts.freeBytes();
  if (free === null) return;
  const removed = removedOf(store);
  if (free < limits.exportSpareBytes) {
    const found = await store.oldestExports(now(), { leastBytes, limit: limits.exportsKeptMax });
    const goals = [limits.exportSpareBytes - free, limits.exportNeededBytes - free];
    // files first: a full disk takes no other change before, and maybe none for a moment more
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

/** Artifacts that were removed, until their exports are known to have ended; downloads say that they are not there. */
const unmarked = new WeakMap<Services['store'], Map<string, ExportName>>();

function removedOf(store: Services['store']): Map<string, ExportName> {
  const found = unmarked.get(store) ?? new Map<string, ExportName>();
  unmarked.set(store, found);
  return found;
}

/** The first of them that have the bytes of one of these goals together; none where they reach no goal. */
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
  log.warn(
    { projectId, exportId },
    'an export ended before its time: the disk is low, and it can be made again',
  );
  const event = exportEnded({ exportId, reason: 'disk_low' }, { nowMs, salt });
  const fingerprints = new Map([[0, fingerprint(event.clientEventId ?? '')]]);
  await append(services, { projectId, leaves: [event], meter: unmetered, fingerprints }).catch(
    (error: unknown) => log.warn({ err: error, exportId }, 'the end of an export could not be recorded'),
  );
}

/** Its artifact, for good. */
export async function removeExport(services: Services, { projectId, exportId }: ExportName): Promise<void> {
  const { store, now, salt, fingerprint, exports } = services;
  // first, since it makes room for what is written next
  await exports.artifacts.remove({ projectId, exportId });
  const exported = await store.exported(projectId, exportId, now());
  if (exported?.status === 'failed') {
    const failed = { exportId, errorSummary: exported.errorSummary ?? '' };
    const event = exportFailed(failed, { nowMs: now(), salt });
    const fingerprints = new Map([[0, fingerprint(event.clientEventId ?? '')]]);
    await append(services, { projectId, leaves: [event], meter: unmetered, fingerprints });
  }
  await store.markExportRemoved(projectId, exportId);
}

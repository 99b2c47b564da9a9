/**
 * Removes expired artifacts and parts of failed exports, at the start and every minute. Makes room every five
 * seconds while the disk is low. Several processes may do so at once: removing a missing artifact does
 * nothing, and a failure is one event. Proven by `test/service/exports/handlers.test.ts` and
 * `test/plane/data/exports-full.long.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { makeRoom, removeExport } from './room.ts';
import { polling } from '../call/poller.ts';
import type { Services } from '../port/services.ts';

/** Recording waits for room while the disk is full. */
const roomEveryMs = 5_000;
/** Each of so many rounds also removes what expired: one a minute. */
const roundsOfSweep = 12;
const atOnce = 100;

/**
 * One round; returns how many artifacts were removed. A crash leaves artifacts that the next round removes.
 * An error of one artifact is thrown at the end, so that all others, and thus a full disk, are still cleaned
 * up.
 */
export async function removeExports(services: Services): Promise<number> {
  const { store, now } = services;
  const failures: unknown[] = [];
  for (let removed = 0; ;) {
    const found = await store.removableExports(now(), atOnce);
    for (const each of found) {
      try {
        await removeExport(services, each);
        removed += 1;
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length === 0 && found.length === atOnce) continue;
    await makeRoom(services);
    if (failures.length > 0) throw failures[0];
    return removed;
  }
}

/** The returned function stops it. */
export function startRemovingExports(services: Services): () => Promise<void> {
  let round = 0;
  return polling({
    everyMs: roomEveryMs,
    poll: () =>
      (round++ % roundsOfSweep === 0 ? removeExports(services) : makeRoom(services)).catch(unlessFull),
    log: services.log,
    failed: 'expired artifacts could not be removed yet',
    level: 'warn',
  });
}

/** Health reports a full disk. */
function unlessFull(error: unknown): void {
  if (!(error instanceof GovError) || error.code !== 'STORAGE_FULL') throw error;
}

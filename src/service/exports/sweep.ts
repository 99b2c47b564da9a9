/**
 * Removes expired artifacts and parts of failed exports, at the start and every minute. Makes room every five
 * seconds while the disk is low. Several processes may do so at once: removing a missing artifact does
 * nothing, and a failure is one event. Proven by `test/service/exports/handlers.test.ts` and
 * `test/plane/data/exports-full.long.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { makeRoom, removeExport } from './room.ts';
import type { Services } from '../port/services.ts';

const everyMs = 60_000;
/** Recording waits for room while the disk is full. */
const roomEveryMs = 5_000;
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
export function startRemovingExports(services: Services): () => void {
  let stopped = false;
  let running = false;
  const round = async (work: () => Promise<unknown>): Promise<void> => {
    if (running) return;
    running = true;
    try {
      await work();
    } catch (error) {
      if (stopped) return; // the store may be closed between two steps
      if (error instanceof GovError && error.code === 'STORAGE_FULL') return; // health reports it
      services.log.warn({ err: error }, 'expired artifacts could not be removed yet');
    } finally {
      running = false;
    }
  };
  const sweep = (): Promise<void> => round(() => removeExports(services));
  void sweep();
  const timers = [
    setInterval(() => void sweep(), everyMs).unref(),
    setInterval(() => void round(() => makeRoom(services)), roomEveryMs).unref(),
  ];
  return () => {
    stopped = true;
    for (const timer of timers) clearInterval(timer);
  };
}

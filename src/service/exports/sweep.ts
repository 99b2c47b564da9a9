/**
 * Removes artifacts past their time, and what failed exports left, at the start and every minute; makes room where the disk
 * is low, every five seconds. Several processes may do so at a time: to remove what is gone is nothing, and the event of a
 * failure is told once. Proven by `test/service/exports/handlers.test.ts` and `test/plane/data/exports-full.long.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { makeRoom, removeExport } from './room.ts';
import type { Services } from '../dependencies.ts';

const everyMs = 60_000;
/** Recording waits for room, where it waits. */
const roomEveryMs = 5_000;
const atOnce = 100;

/**
 * One round; answers how many were removed. A crash leaves artifacts that the next round removes. What one of them fails
 * with is thrown at the end: it keeps no other, and so no disk that is full.
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

/** The answer ends it. */
export function startRemovingExports(services: Services): () => void {
  let stopped = false;
  let running = false;
  const round = async (work: () => Promise<unknown>): Promise<void> => {
    if (running) return;
    running = true;
    try {
      await work();
    } catch (error) {
      if (stopped) return; // the store was closed between two parts of it
      if (error instanceof GovError && error.code === 'STORAGE_FULL') return; // health says so
      services.log.warn({ err: error }, 'artifacts that are over could not be removed yet');
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

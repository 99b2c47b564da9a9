/**
 * Removes artifacts past their time, and what failed exports left, at the start and every minute. Several processes may
 * do so at a time: to remove what is gone is nothing, and the event of a failure is told once.
 * Proven by `test/service/exports.test.ts`.
 */
import { append, unmetered } from './append.ts';
import { exportFailed } from './exportevents.ts';
import type { Services } from './services.ts';

const everyMs = 60_000;
const atOnce = 100;

type Swept = Awaited<ReturnType<Services['store']['removableExports']>>[number];

/** One round; answers how many were removed. A crash leaves artifacts that the next round removes. */
export async function removeExports(services: Services): Promise<number> {
  const { store, now } = services;
  let removed = 0;
  for (;;) {
    const found = await store.removableExports(now(), atOnce);
    for (const each of found) await remove(services, each);
    removed += found.length;
    if (found.length < atOnce) return removed;
  }
}

async function remove(services: Services, { projectId, exportId }: Swept): Promise<void> {
  const { store, now, salt, fingerprint, exports } = services;
  const exported = await store.exported(projectId, exportId, now());
  if (exported?.status === 'failed') {
    const failed = { exportId, errorSummary: exported.errorSummary ?? '' };
    const event = exportFailed(failed, { nowMs: now(), salt });
    const fingerprints = new Map([[0, fingerprint(event.clientEventId ?? '')]]);
    await append(services, { projectId, leaves: [event], meter: unmetered, fingerprints });
  }
  await exports.artifacts.remove({ projectId, exportId });
  await store.markExportRemoved(projectId, exportId);
}

/** The answer ends it. */
export function startRemovingExports(services: Services): () => void {
  let stopped = false;
  let running = false;
  const sweep = async (): Promise<void> => {
    if (running) return;
    running = true;
    try {
      await removeExports(services);
    } catch (error) {
      if (stopped) return; // the store was closed between two parts of it
      services.log.warn({ err: error }, 'artifacts past their time could not be removed yet');
    } finally {
      running = false;
    }
  };
  void sweep();
  const timer = setInterval(() => void sweep(), everyMs);
  timer.unref();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

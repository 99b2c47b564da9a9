/** The PostgreSQL engine of a serving process: the store, its worker thread, its probe. */
import type { Log } from '../service/log.ts';
import { openPostgres } from '../store/postgres/index.ts';
import { openSignedHeads } from '../store/sqlite/signedheads.ts';
import type { Engine } from './assemble.ts';
import { now, randomBytes } from './clock.ts';
import { chunkArtifacts } from './chunkartifacts.ts';
import { fileArtifacts } from './fileartifacts.ts';
import { createDatabaseProbe } from './probe.ts';
import { ThreadWork } from './threadwork.ts';

/** What the worker thread reads with, beside the connections of the process. */
const readingConnections = 4;

/**
 * Throws as `openPostgres` and `openSignedHeads`. A fault of the database heals once it answers again, so the process
 * goes on.
 */
export async function postgresEngine(
  {
    url,
    connections,
    dataDir,
    exportDir,
  }: {
    readonly url: string;
    readonly connections: number;
    readonly dataDir: string;
    /** That the processes share; null: artifacts lie in the database. */
    readonly exportDir: string | null;
  },
  { log, rebuildHeads }: { readonly log: Log; readonly rebuildHeads: boolean },
): Promise<Engine> {
  const onWarning = (text: string): void => log.warn({}, text);
  const heads = openSignedHeads(dataDir, { rebuild: rebuildHeads, onWarning });
  const store = await openPostgres({ url, connections, heads, clock: { now }, randomBytes, onWarning });
  await store.watchClock(now);
  const source = { engine: 'postgres', url, connections: readingConnections } as const;
  const work = new ThreadWork(source, log, (error, projectId) => store.note(error, projectId));
  const building = new ThreadWork(source, log, (error, projectId) => store.note(error, projectId));
  const artifacts =
    exportDir === null ? chunkArtifacts(store.chunks, randomBytes) : fileArtifacts(exportDir, randomBytes);
  const exports = { artifacts, work: building };
  return { store, work, exports, probe: createDatabaseProbe(store.probe, now), faulted: () => null };
}

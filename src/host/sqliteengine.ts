/** The SQLite engine of a serving process: the store in a data directory, its worker thread, its probe. */
import { join } from 'node:path';
import type { Log } from '../service/log.ts';
import { openStore, storeFiles } from '../store/sqlite/index.ts';
import type { Engine } from './assemble.ts';
import { now, randomBytes } from './clock.ts';
import { fileArtifacts } from './fileartifacts.ts';
import type { Variables } from './layers.ts';
import { readMasterKey } from './masterkey.ts';
import { createProbe } from './probe.ts';
import { ThreadWork } from './threadwork.ts';

/** Throws as `openStore`. */
export function sqliteEngine(
  dataDir: string,
  {
    log,
    rebuildHeads,
    hosted = false,
    env = {},
  }: {
    readonly log: Log;
    readonly rebuildHeads: boolean;
    readonly hosted?: boolean;
    /** Where the master key may be named. */
    readonly env?: Variables;
  },
): Engine {
  let fault: string | null = null;
  const masterKey = readMasterKey(dataDir, env);
  if (rebuildHeads) {
    log.warn({}, 'heads.db is rebuilt from the database: an older copy of both would not be found out');
  }
  const store = openStore({
    dataDir,
    rebuildHeads,
    hosted,
    masterKey,
    thread: true,
    clock: { now },
    randomBytes,
    onFault: (error) => (fault = error.message),
    onWarning: (text) => log.warn({}, text),
  });
  const source = { engine: 'sqlite', path: storeFiles(dataDir).main, masterKey } as const;
  const work = new ThreadWork(source, log, (error, projectId) => store.note(error, projectId));
  const building = new ThreadWork(source, log, (error, projectId) => store.note(error, projectId));
  const artifacts = fileArtifacts(join(dataDir, 'exports'), randomBytes);
  const exports = { artifacts, work: building };
  return { store, work, exports, probe: createProbe(dataDir, now), faulted: () => fault };
}

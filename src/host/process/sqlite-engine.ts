/**
 * The SQLite engine of a serving process: the store in a data directory, its worker threads, its probe.
 */
import type { Log } from '../../service/call/log.ts';
import { migrationLog } from './log.ts';
import { openStore } from '../../store/sqlite/store.ts';
import { readLosses, type OnLoss } from '../../store/acked/losses.ts';
import { refuseOtherMasterKeyOf } from '../../store/file/master-key.ts';
import { storeFiles } from '../../store/file/paths.ts';
import type { Engine } from './assemble.ts';
import { now, randomBytes } from './clock.ts';
import { artifactFolder } from '../exports/artifact-bytes.ts';
import { fileArtifacts } from '../exports/files.ts';
import type { Variables } from '../config/layers.ts';
import { readMasterKey } from '../keys/master.ts';
import { createProbe, watchDisk } from './probe.ts';
import { sealedArtifacts } from '../exports/sealed.ts';
import { ThreadWork } from './thread-work.ts';

/** Throws as `openStore`, `readMasterKey` and `refuseOtherMasterKeyOf` do. */
export function sqliteEngine(
  dataDir: string,
  {
    log,
    rebuildHeads,
    hosted = false,
    env = {},
    reportFonts = null,
    onLoss,
  }: {
    readonly log: Log;
    readonly rebuildHeads: boolean;
    readonly hosted?: boolean;
    /** May name the master key. */
    readonly env?: Variables;
    /** Folder with fonts of reports for other scripts. */
    readonly reportFonts?: string | null;
    readonly onLoss?: OnLoss | undefined;
  },
): Engine {
  let fault: string | null = null;
  const masterKey = readMasterKey(dataDir, env, { readonly: true });
  if (rebuildHeads) {
    log.warn({}, 'heads.db is rebuilt from the database: this start cannot detect an older copy of both');
  }
  const store = openStore({
    dataDir,
    rebuildHeads,
    hosted,
    onLoss,
    masterKey,
    thread: true,
    clock: { now },
    randomBytes,
    beforeOpen: () => refuseOtherMasterKeyOf(dataDir, masterKey),
    onFault: (error) => (fault = error.message),
    onWarning: (text) => log.warn({}, text),
    onMigration: migrationLog(log),
  });
  readMasterKey(dataDir, env); // writes the key check only after the store opened with the key
  const source = { engine: 'sqlite', path: storeFiles(dataDir).main, masterKey } as const;
  const failed = (error: Error, projectId: string) => store.note(error, projectId);
  const work = new ThreadWork(source, log, { failed });
  const building = new ThreadWork(source, log, { failed, isBackground: true, reportFonts });
  const files = fileArtifacts(artifactFolder(dataDir), randomBytes);
  const artifacts = masterKey === undefined ? files : sealedArtifacts(files, { masterKey, randomBytes });
  const exports = { artifacts, work: building };
  const watch = () => watchDisk(dataDir, (reason) => (fault ??= reason));
  const probe = createProbe(dataDir, now);
  return { store, work, exports, probe, faulted: () => fault, watch, losses: () => readLosses(dataDir) };
}

/**
 * The PostgreSQL engine of a serving process: the store, its worker threads, its probe.
 */
import type { Log } from '../../service/call/log.ts';
import { otherMasterKey } from '../../store/erasure/body-seal.ts';
import { openPostgres, type PostgresStore } from '../../store/postgres/store.ts';
import { openAcked } from '../../store/acked/heads.ts';
import type { OnLoss } from '../../store/acked/losses.ts';
import { openSignedHeads } from '../../store/file/signed-heads.ts';
import type { Engine } from './assemble.ts';
import { now, randomBytes } from './clock.ts';
import { chunkArtifacts } from '../exports/chunked.ts';
import { fileArtifacts } from '../exports/files.ts';
import type { Variables } from '../config/layers.ts';
import { masterKeyCheck, readMasterKey } from '../keys/master.ts';
import { createDatabaseProbe } from './probe.ts';
import { sealedArtifacts } from '../exports/sealed.ts';
import { ThreadWork } from './thread-work.ts';

/** Connections of each worker thread, besides those of the process. */
const readingConnections = 4;

/**
 * Throws as `readMasterKey`, `openPostgres` and `openSignedHeads` do. STORAGE_FAULT where other processes of
 * the database use another master key. The process continues during a database failure and recovers with the
 * database.
 */
export async function postgresEngine(
  {
    url,
    connections,
    dataDir,
    exportDir,
    onLoss,
  }: {
    readonly url: string;
    readonly connections: number;
    readonly dataDir: string;
    /** A folder that the processes share. Null stores artifacts in the database. */
    readonly exportDir: string | null;
    readonly onLoss?: OnLoss;
  },
  {
    log,
    rebuildHeads,
    env = {},
    reportFonts = null,
  }: {
    readonly log: Log;
    readonly rebuildHeads: boolean;
    /** May name the master key. */
    readonly env?: Variables;
    /** Folder with fonts of reports for other scripts. */
    readonly reportFonts?: string | null;
  },
): Promise<Engine> {
  const masterKey = readMasterKey(dataDir, env, { readonly: true });
  const onWarning = (text: string): void => log.warn({}, text);
  const heads = openSignedHeads(dataDir, { rebuild: rebuildHeads, onWarning });
  const acked = openAcked(dataDir, onWarning);
  const store = await openPostgres({
    url,
    connections,
    masterKey,
    heads,
    acked,
    ...(onLoss === undefined ? {} : { onLoss }),
    clock: { now },
    randomBytes,
    onWarning,
  });
  await refuseOtherMasterKey(store, masterKey);
  readMasterKey(dataDir, env); // writes the key check only after the database accepted the key
  await store.watchClock(now);
  const source = { engine: 'postgres', url, connections: readingConnections, masterKey } as const;
  const failed = (error: Error, projectId: string) => store.note(error, projectId);
  const work = new ThreadWork(source, log, { failed });
  const building = new ThreadWork(source, log, { failed, isBackground: true, reportFonts });
  const kept =
    exportDir === null ? chunkArtifacts(store.chunks, randomBytes) : fileArtifacts(exportDir, randomBytes);
  const artifacts = masterKey === undefined ? kept : sealedArtifacts(kept, { masterKey, randomBytes });
  const exports = { artifacts, work: building };
  const probe = createDatabaseProbe(store.probe, now);
  return { store, work, exports, probe, faulted: () => null, losses: () => acked.losses() };
}

/** Checks that all processes of a database use one master key. Rows from before the first key are in clear. */
async function refuseOtherMasterKey(store: PostgresStore, masterKey: Uint8Array | undefined): Promise<void> {
  const check = masterKey === undefined ? null : masterKeyCheck(masterKey);
  const kept = await store.claimMasterKey(check);
  if (kept === check) return;
  await store.close();
  throw otherMasterKey('this database', check === null ? 'none' : 'another one');
}

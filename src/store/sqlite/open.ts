/** Opens what a store is made of, in the order in which it may fail, and closes it again when something does. */
import { mkdirSync } from 'node:fs';
import { sealWith } from '../file/body-seal.ts';
import { connect, type Connection } from '../file/connection.ts';
import { opening, type Faults } from '../file/faults.ts';
import { makePrivate, refuseReadOnly, storeFiles } from '../file/paths.ts';
import { judgeFilesystem } from '../file/filesystem.ts';
import { openHeads, recentLogHeads, reconcileHeads, type Heads } from '../file/heads.ts';
import { refusePlane } from '../file/hosted.ts';
import { takeLock } from '../file/lock.ts';
import { migrate } from '../file/migrate.ts';
import { connectReader } from '../file/reader.ts';
import { mainApplicationId, mainMigrations } from '../file/schema/tables.ts';
import { openOwnSubjects, openSubjects } from '../file/subjects.ts';
import { startedProjects, verifyTails } from '../file/tail.ts';

export interface OpenOptions {
  readonly dataDir: string;
  /** Take the newest notes of the database as the truth where `heads.db` was lost or is older. */
  readonly rebuildHeads?: boolean;
  /** Of a service: the database of a plane is refused. */
  readonly hosted?: boolean;
  readonly faults?: Faults | undefined;
  /** Seals bodies at rest, 32 bytes; in clear where absent. */
  readonly masterKey?: Uint8Array | undefined;
  /** What an operator should know and nothing was refused for. */
  readonly onWarning?: (text: string) => void;
}

export interface Parts {
  readonly writing: Connection;
  readonly reading: Connection;
  readonly heads: Heads;
  /** Keys of subjects, by which bodies are sealed; null without a master key. */
  readonly subjects: { readonly writing: Connection; readonly reading: Connection } | null;
  /** Closes everything and lets go of the lock. */
  close(): void;
}

/**
 * Throws CONFLICT where another process holds the directory, a newer release wrote it, or an older copy was
 * restored; STORAGE_FAULT where a setting does not hold or the newest leaves do not verify.
 */
export function openParts(options: OpenOptions): Parts {
  const { dataDir, faults, rebuildHeads = false, hosted = false } = options;
  const files = storeFiles(dataDir);
  const opened: (() => void)[] = [];
  const close = (): void => {
    for (const undo of opened.splice(0).reverse()) undo();
  };
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    refuseReadOnly(dataDir);
    const warning = judgeFilesystem(dataDir);
    if (warning !== null) options.onWarning?.(warning);
    for (const path of [files.lock, files.main, files.heads]) makePrivate(path);
    const lock = takeLock(files.lock, process.pid);
    opened.push(() => lock.release());
    const main = { applicationId: mainApplicationId, cacheKiB: 16_384 };
    const writing = opening(files.main, () => connect(files.main, main));
    opened.push(() => writing.close());
    const heads = opening(files.heads, () => openHeads(files.heads, { faults }));
    opened.push(() => heads.close());
    opening(files.main, () => {
      migrate(writing, mainMigrations);
      if (hosted) refusePlane(writing);
      const logs = hosted && !rebuildHeads ? recentLogHeads(writing, startedProjects) : undefined;
      reconcileHeads(writing, heads, { rebuild: rebuildHeads, hosted, logs });
      verifyTails(writing, logs);
    });
    const subjects = options.masterKey === undefined ? null : openKeys(files.subjects, writing, opened);
    sealWith(writing, options.masterKey, subjects?.writing);
    // what is read again and again, heads and tiles, is held above the store
    const reading = connectReader(files.main, 4096);
    opened.push(() => reading.close());
    sealWith(reading, options.masterKey, subjects?.reading);
    faults?.opened?.(writing);
    return { writing, reading, heads, subjects, close };
  } catch (error) {
    close();
    throw error;
  }
}

function openKeys(path: string, main: Connection, opened: (() => void)[]): NonNullable<Parts['subjects']> {
  const writing = openOwnSubjects(path, main);
  opened.push(() => writing.close());
  const reading = openSubjects(path, { readonly: true });
  opened.push(() => reading.close());
  return { writing, reading };
}

/** Opens what a store is made of, in the order in which it may fail, and closes it again when something does. */
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { GovError } from '../../contract/problems.ts';
import { sealWith } from './effects/body-seal.ts';
import { connect, type Connection } from './file/connection.ts';
import { opening, type Faults } from './file/faults.ts';
import { makePrivate, storeFiles } from './file/paths.ts';
import { judgeFilesystem } from './file/filesystem.ts';
import { openHeads, recentLogHeads, reconcileHeads, type Heads } from './write/heads.ts';
import { refusePlane } from './file/hosted.ts';
import { takeLock } from './file/lock.ts';
import { migrate } from './file/migrate.ts';
import { connectReader } from './read/reader.ts';
import { mainApplicationId, mainMigrations } from './schema/tables.ts';
import { openOwnSubjects, openSubjects } from './effects/subject-file.ts';
import { verifyTails } from './write/tail.ts';

export { makePrivate, storeFiles } from './file/paths.ts';

/**
 * Projects whose logs a service looks at before it serves: those that were written to last, which a crash may have
 * reached. Of every other, each leaf is looked at when it is read, the tiles when the log is extended, and what was signed
 * when it is signed again; a plane looks at all.
 */
export const startedProjects = 1000;

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

/** STORAGE_FAULT where the directory, or a file of a store in it, may not be written. */
export function refuseReadOnly(dataDir: string): void {
  for (const path of [dataDir, ...Object.values(storeFiles(dataDir))]) refuseUnwritable(path);
}

function refuseUnwritable(path: string): void {
  if (!existsSync(path)) return;
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    const why = code === 'EROFS' ? 'its file system is mounted read-only' : 'this user may not write it';
    throw new GovError(
      'STORAGE_FAULT',
      `expected ${path} to be writable, but ${why} (${code}); remount it, or serve as its owner`,
      { cause },
    );
  }
}

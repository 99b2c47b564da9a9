/**
 * Opens the parts of a store in the order in which they can fail. Closes all of them when one fails. Source:
 * SQLite's documentation of `BEGIN IMMEDIATE`, WAL mode and `application_id`.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import { makeFolder } from '../../files/make-folder.ts';
import { sealWith } from '../file/body-seal.ts';
import { openAcked } from '../acked/heads.ts';
import { connect, type Connection } from '../file/connection.ts';
import { opening, type Faults } from '../file/faults.ts';
import { makePrivate, refuseOpenToAll, refuseReadOnly, storeFiles } from '../file/paths.ts';
import { judgeFilesystem } from '../file/filesystem.ts';
import {
  logHeads,
  openHeads,
  recentLogHeads,
  reconcileHeads,
  type Heads,
  type LogHead,
} from '../file/heads.ts';
import { lackedFinder, lossRefused } from '../acked/compare.ts';
import type { OnLoss } from '../acked/losses.ts';
import { refusePlane } from '../file/hosted.ts';
import { takeLock } from '../file/lock.ts';
import { migrate, type MigrationStep } from '../file/migrate.ts';
import { connectReader } from '../file/reader.ts';
import { mainApplicationId, mainMigrations } from '../file/schema/tables.ts';
import { openOwnSubjects, openSubjects } from '../file/subjects.ts';
import { startedProjects, verifyTails } from '../file/tail.ts';
import { endLeases } from './upkeep/leases.ts';

export interface OpenOptions {
  readonly dataDir: string;
  /** Accepts the newest notes in the database as the truth if `heads.db` is missing or older. */
  readonly rebuildHeads?: boolean;
  /** `refuse`: a database that lacks acknowledged leaves is not opened. Default: the log records the loss. */
  readonly onLoss?: OnLoss | undefined;
  /** Set by a service: it refuses the database of a plane. */
  readonly hosted?: boolean;
  readonly faults?: Faults | undefined;
  /** The key that seals bodies at rest, 32 bytes. Absent: bodies are stored in clear text. */
  readonly masterKey?: Uint8Array | undefined;
  /** Judges the files as they are, once they are known to be writable; what it throws ends the opening. */
  readonly beforeOpen?: () => void;
  /** Receives problems that an operator should know about but that do not stop the start. */
  readonly onWarning?: (text: string) => void;
  /** Receives the databases of an older release that the start migrates. */
  readonly onMigration?: (step: MigrationStep) => void;
}

export interface Parts {
  readonly writing: Connection;
  readonly reading: Connection;
  readonly heads: Heads;
  /** Projects that lack acknowledged leaves. */
  readonly lacking: readonly string[];
  /** The keys of subjects, which seal bodies; null without a master key. */
  readonly subjects: { readonly writing: Connection; readonly reading: Connection } | null;
  /** Closes all parts and releases the lock. */
  close(): void;
}

/**
 * Opens all parts. Throws CONFLICT if another process holds the directory, a newer release wrote it, or it is
 * a restored older copy. Throws STORAGE_FAULT if SQLite does not keep a setting or the newest leaves do not
 * verify.
 */
export function openParts(options: OpenOptions): Parts {
  const { dataDir, faults, rebuildHeads = false, hosted = false, onMigration } = options;
  const files = storeFiles(dataDir);
  const opened: (() => void)[] = [];
  const close = (): void => {
    for (const undo of opened.splice(0).reverse()) undo();
  };
  try {
    makeFolder(dataDir, 0o700);
    refuseOpenToAll(dataDir);
    refuseReadOnly(dataDir);
    options.beforeOpen?.();
    const warning = judgeFilesystem(dataDir);
    if (warning !== null) options.onWarning?.(warning);
    for (const path of [files.lock, files.main, files.heads]) makePrivate(path);
    const lock = takeLock(files.lock, process.pid);
    opened.push(() => lock.release());
    const main = { applicationId: mainApplicationId, cacheKiB: 16_384 };
    const writing = opening(files.main, () => connect(files.main, main));
    opened.push(() => writing.close());
    const heads = opening(files.heads, () => openHeads(files.heads, { faults, onMigration }));
    opened.push(() => heads.close());
    const lacking = opening(files.main, () => {
      migrate(writing, mainMigrations, onMigration);
      if (hosted) refusePlane(writing);
      const logs = hosted && !rebuildHeads ? recentLogHeads(writing, startedProjects) : undefined;
      reconcileHeads(writing, heads, { rebuild: rebuildHeads, hosted, logs });
      verifyTails(writing, logs);
      endLeases(writing);
      return lackingOf(writing, options, logs);
    });
    const subjects = options.masterKey === undefined ? null : openKeys(files.subjects, writing, opened);
    sealWith(writing, options.masterKey, subjects?.writing);
    // 4 MiB of cache: the layers above the store cache heads and tiles, which are read often
    const reading = connectReader(files.main, 4096);
    opened.push(() => reading.close());
    sealWith(reading, options.masterKey, subjects?.reading);
    faults?.opened?.(writing);
    return { writing, reading, heads, lacking, subjects, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Throws CONFLICT for an older copy of the database if `onLoss` says so. Cost: 5 µs a log. */
function lackingOf(
  main: Connection,
  { dataDir, onLoss = 'record' }: OpenOptions,
  logs: Iterable<LogHead> = logHeads(main),
): readonly string[] {
  const acked = openAcked(dataDir);
  try {
    const find = lackedFinder(main, acked);
    const lacking = [...logs].flatMap((log) => {
      const head = log.tree === 'audit' ? find(log) : null;
      return head === null ? [] : [{ log, head }];
    });
    const [first] = lacking;
    if (first !== undefined && onLoss === 'refuse') {
      const { log, head } = first;
      throw lossRefused('CONFLICT', log.origin, { acked: head.size, got: log.size });
    }
    return lacking.map(({ log }) => log.projectId);
  } finally {
    acked.close();
  }
}

function openKeys(path: string, main: Connection, opened: (() => void)[]): NonNullable<Parts['subjects']> {
  const writing = openOwnSubjects(path, main);
  opened.push(() => writing.close());
  const reading = openSubjects(path, { readonly: true });
  opened.push(() => reading.close());
  return { writing, reading };
}

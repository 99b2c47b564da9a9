/**
 * Signed heads on the machine of a process whose database is elsewhere: `heads.db` in its data directory.
 * It detects a database restored from an old copy before that database signs a second history. Processes of
 * one machine may share the file. A head is durable before its signature, and the event loop does not wait
 * for the disk. Heads are committed without a sync; one sync of the write-ahead log serves all waiting
 * callers. A crash of the machine before the sync loses only unsigned heads.
 * Proven by `test/store/file/signed-heads.test.ts`.
 */
import { accessSync, constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { GovError } from '../../contract/problems.ts';
import type { TreeHead } from '../port/store.ts';
import { opening } from './faults.ts';
import { judgeFilesystem } from './filesystem.ts';
import { openHeads, type Heads, type NamedHead } from './heads.ts';
import { makePrivate } from './paths.ts';
import { storeFiles } from './paths.ts';

export interface SignedHeads {
  find(origin: string): TreeHead | null;
  /** The last raised head. */
  newest(): NamedHead | null;
  /**
   * Resolves once the head is durable. A size below the stored one changes nothing. Rejects with
   * STORAGE_FAULT if it is not durable.
   */
  raise(origin: string, head: TreeHead): Promise<void>;
  close(): Promise<void>;
}

export interface SignedHeadsOptions {
  /** Forget every head: the database has the truth. */
  readonly rebuild?: boolean;
  readonly onWarning?: (text: string) => void;
}

/**
 * Opens the heads file of a data directory. If no file there can be written or locked, warns and remembers
 * heads until the process ends. Throws STORAGE_FAULT if the file is damaged, and CONFLICT if a newer release
 * wrote it.
 */
export function openSignedHeads(dataDir: string, options: SignedHeadsOptions = {}): SignedHeads {
  const { rebuild = false, onWarning } = options;
  const why = unfit(dataDir);
  if (why !== null) {
    onWarning?.(`${dataDir} ${why}: signed heads are remembered only until this process ends`);
    return volatileHeads();
  }
  const path = storeFiles(dataDir).heads;
  makePrivate(path);
  const heads = opening(path, () => openHeads(path, { relaxed: true }));
  if (rebuild) forget(heads, onWarning);
  const sync = syncer(`${path}-wal`);
  let broken: GovError | null = null;
  return {
    find: (origin) => heads.find(origin),
    newest: () => heads.newest(),
    raise: async (origin, head) => {
      if (broken !== null) throw broken;
      try {
        heads.raise(origin, head);
        await sync.now();
      } catch (cause) {
        const detail = `expected a durable head in ${path} before its signature, got an error; check its disk, then restart`;
        const failed = new GovError('STORAGE_FAULT', detail, { cause });
        // after a failed sync the content of the disk is unknown
        if (cause instanceof Error && 'syscall' in cause) broken = failed;
        throw failed;
      }
    },
    close: async () => {
      await sync.close();
      heads.close();
    },
  };
}

/** The reason why a directory cannot have a database file, or null. */
export function unfit(dataDir: string): string | null {
  try {
    accessSync(dataDir, constants.W_OK);
    judgeFilesystem(dataDir);
    return null;
  } catch (error) {
    return error instanceof GovError ? 'is on a network file system' : 'cannot be written';
  }
}

function forget(heads: Heads, onWarning: SignedHeadsOptions['onWarning']): void {
  const newest = heads.newest();
  if (newest === null) return;
  const { origin, size, root } = newest;
  onWarning?.(
    `heads.db is forgotten; its newest was ${origin} of ${size} leaves, root ${root.toString('hex')}`,
  );
  heads.clear();
}

/** Syncs a file outside the thread, one sync at a time. Callers share a sync that has not started. */
function syncer(path: string): { now(): Promise<void>; close(): Promise<void> } {
  let file: FileHandle | undefined;
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;
  const sync = async (): Promise<void> => {
    next = null;
    if (file === undefined) {
      file = await open(path, 'r');
      const directory = await open(dirname(path), 'r');
      await directory.sync().finally(() => directory.close());
    }
    await file.datasync();
  };
  return {
    now: () => {
      if (next === null) {
        next = last.then(sync);
        last = next.catch(() => {});
      }
      return next;
    },
    close: async () => {
      await last;
      await file?.close();
    },
  };
}

/** About 20 MB. */
const heldHeads = 100_000;

function volatileHeads(): SignedHeads {
  const held = new Map<string, NamedHead>();
  let newest: NamedHead | null = null;
  return {
    find: (origin) => held.get(origin) ?? null,
    newest: () => newest,
    raise: async (origin, { size, root }) => {
      if (size <= (held.get(origin)?.size ?? 0)) return;
      newest = { origin, size, root };
      held.delete(origin);
      held.set(origin, newest);
      const [oldest] = held.keys();
      if (held.size > heldHeads && oldest !== undefined) held.delete(oldest);
    },
    close: async () => {},
  };
}

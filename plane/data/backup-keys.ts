/**
 * Copies the keys of a log into a backup of it. A rotation may run during the copy, so the log is copied
 * first. The keys follow, from any folder that contains them. The copied log decides where each key belongs.
 * A rotation only moves a key in force and never deletes it. Proven by `test/plane/data/backup-keys.test.ts`.
 */
import { existsSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { codeOf } from '../../src/files/write-fault.ts';
import { makeFolder } from '../../src/files/make-folder.ts';
import type { KeyHistory } from '../../src/core/note/key-history.ts';
import { syncDirectory } from '../../src/files/durable.ts';
import { logKeyFiles, readKeys, telemetryKeyFile } from '../../src/host/keys/disk.ts';
import { logKeys } from '../../src/service/log/keys.ts';
import { openReader } from '../../src/store/sqlite/store.ts';
import { storeFiles } from '../../src/store/file/paths.ts';
import { copyPrivate } from './files.ts';
import { keyFolders, refuseForeignKeys, verifierKeyIn } from '../keys/own.ts';

/** Whether a rotation moves the file at this path below the directory. */
export const isLogKey = ({ path }: { readonly path: string }): boolean =>
  path.startsWith('keys/') &&
  (basename(path) === telemetryKeyFile ||
    /^log\.(?:[0-9]+\.)?(?:ed25519|mldsa44)\.pem$/.test(basename(path)));

/** Reads the key history of the log in a copy that no process serves. */
export async function historyIn(copy: string, projectId: string): Promise<KeyHistory> {
  const { main } = storeFiles(copy);
  const reader = openReader(main);
  try {
    return await logKeys(reader, projectId);
  } finally {
    reader.close();
    // A reader creates these files and leaves them empty.
    for (const end of ['-wal', '-shm']) rmSync(`${main}${end}`, { force: true });
  }
}

/** STORAGE_FAULT where the keys in a directory differ from the keys that its log has in force. */
export const refuseKeysOf = (dataDir: string, history: KeyHistory): void =>
  refuseForeignKeys(history, readKeys(dataDir).verifierKeys(history.origin));

/** A rotation moves a few files, and each move takes less time than this. */
const againMs = 50;
const attempts = 10;

/** STORAGE_FAULT where a key is missing that the copied log has in force. */
export async function copyLogKeys(dataDir: string, copy: string, history: KeyHistory): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      copyNow(dataDir, copy, history);
      refuseKeysOf(copy, history);
      return;
    } catch (error) {
      const code = codeOf(error);
      if (attempt === attempts || (code !== 'ENOENT' && code !== 'STORAGE_FAULT')) throw error;
      await delay(againMs); // it was moved between the look and the copy
    }
  }
}

function copyNow(dataDir: string, copy: string, history: KeyHistory): void {
  const [from, to] = [keyFolders(dataDir), keyFolders(copy)];
  const places = new Map([
    ...history.retired.map(({ text }) => [text, to.retired] as const),
    ...history.inForce.map(({ text }) => [text, to.keys] as const),
  ]);
  const kept = join(from.keys, telemetryKeyFile);
  if (existsSync(kept)) copyPrivate(kept, join(to.keys, telemetryKeyFile));
  for (const folder of ['keys', 'next', 'retired'] as const) {
    for (const pair of logKeyFiles(from[folder])) {
      for (const algorithm of ['ed25519', 'mlDsa44'] as const) {
        const path = pair[algorithm];
        if (path === null) continue;
        const text = verifierKeyIn(path, algorithm, history.origin);
        // The log does not know this key: it waits to be added, or a crash left it.
        const place = text === null ? to[folder] : (places.get(text) ?? to.next);
        makeFolder(place, 0o700);
        copyPrivate(path, join(place, basename(path)));
      }
    }
  }
  for (const folder of Object.values(to)) if (existsSync(folder)) syncDirectory(folder);
}

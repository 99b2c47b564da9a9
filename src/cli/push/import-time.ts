/**
 * The time of a recording's first import. Events without times carry it. A second import of the same bytes must give the
 * same events; otherwise the service would see different content under the same clientEventIds. So the first import
 * stores its time under the hash of the bytes. Tested by `test/cli/push/import-time.test.ts`.
 */
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseTimestamp } from '../../core/time.ts';
import { xdgFolder } from '../context/config.ts';
import type { Io } from '../terminal/io.ts';
import { makeFolder } from '../../files/make-folder.ts';

/** Returns the directory of the tool's state: `$XDG_STATE_HOME/gov`, else `~/.local/state/gov`. */
export function stateDirectory(env: Io['env']): string {
  return join(xdgFolder(env, 'XDG_STATE_HOME'), 'gov');
}

/**
 * Returns the Unix milliseconds of the first import of bytes with this SHA-256 (hex). The first call stores `now`. Throws the
 * system's error if it cannot store the time.
 */
export function importTime(directory: string, sha256: string, now: number): number {
  const folder = join(directory, 'imports');
  const path = join(folder, sha256);
  const known = readNote(path);
  if (known !== undefined) return known;
  makeFolder(folder, 0o700);
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${new Date(now).toISOString()}\n`, { mode: 0o600, flush: true });
  try {
    linkSync(draft, path);
    return now;
  } catch (cause) {
    // another import of the same bytes stored its time first
    const noted = readNote(path);
    if (noted === undefined) throw cause;
    return noted;
  } finally {
    rmSync(draft, { force: true });
  }
}

function readNote(path: string): number | undefined {
  try {
    return parseTimestamp(readFileSync(path, 'utf8').trim()) ?? undefined;
  } catch {
    // missing or unreadable; if it is unreadable, writing it reports the reason
    return undefined;
  }
}

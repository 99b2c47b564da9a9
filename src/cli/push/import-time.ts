/**
 * When a recording was imported. Events without times of their own carry the time of the import; importing the same
 * bytes again must make the same events, or the service would see other content under the same clientEventIds. So
 * the first import notes its time under the hash of the bytes, and later ones read it.
 * Proven by `test/cli/push/import-time.test.ts`.
 */
import { hash } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseTimestamp } from '../../core/time.ts';
import type { Io } from '../terminal/io.ts';

/** Where the tool keeps what it must remember: `$XDG_STATE_HOME/gov`, else `~/.local/state/gov`. */
export function stateDirectory(env: Io['env']): string {
  const base = env['XDG_STATE_HOME'] || join(env['HOME'] || homedir(), '.local', 'state');
  return join(base, 'gov');
}

/**
 * Unix milliseconds of the first import of these bytes, which is `now` where there was none; it is noted then. Throws
 * the system's error where it cannot be noted.
 */
export function importTime(directory: string, bytes: Buffer, now: number): number {
  const folder = join(directory, 'imports');
  const path = join(folder, hash('sha256', bytes, 'hex'));
  const known = readNote(path);
  if (known !== undefined) return known;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${new Date(now).toISOString()}\n`, { mode: 0o600, flush: true });
  try {
    linkSync(draft, path);
    return now;
  } catch (cause) {
    // another import of the same bytes was faster
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
    // not there, or not readable, in which case writing it says why
    return undefined;
  }
}

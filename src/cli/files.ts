/** Writing a file the user asked for: a crash leaves the old file or the new one, never half of one. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { CliError, exit } from './exit.ts';

/** Writes beside the target, syncs, renames. Errors: exit 1 with the reason. */
export function writeWhole(path: string, bytes: Uint8Array, mode = 0o644): void {
  const part = `${path}.part`;
  let isMade = false;
  try {
    // what an earlier process left has the mode of then
    rmSync(part, { force: true });
    const file = openSync(part, 'wx', mode);
    isMade = true;
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(part, path);
  } catch (cause) {
    if (isMade) rmSync(part, { force: true });
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CliError(exit.error, `cannot write ${path}: ${reason}`, { code: 'WRITE_FAILED', cause });
  }
}

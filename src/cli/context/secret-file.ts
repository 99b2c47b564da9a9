/**
 * A file for a secret that is shown once. It is made before the secret is, so that none is lost to a place that cannot
 * be written; nobody but the user can read it. A crash in between leaves an empty file, which the next call refuses.
 * `test/cli/commands/keys/create.test.ts` proves it.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { CliError, exit, usage } from '../program/exit.ts';
import { isStreamAt } from '../terminal/output-file.ts';

export interface SecretFile {
  /** Durable once this returns. Errors: exit 1 with the reason. */
  write(text: string): void;
  /** There is no secret to write: removes what was made. */
  cancel(): void;
}

/** Errors: exit 2 where the output has no place for the secret, before one is made. */
export function refuseIdAlone({ format }: { readonly format: string }, file: string | undefined): void {
  if (format === 'id' && file === undefined)
    throw usage(
      '--output id: expected --out FILE as well, or the secret would be lost',
      'give --out, or -o json',
    );
}

/** Errors: exit 2 where the file is there already and `force` is not given, and for what is no file. */
export function reserveSecretFile(path: string, { force }: { force: boolean }): SecretFile {
  if (isStreamAt(path))
    throw usage(`${path}: expected a file for the secret, got a pipe or a device`, 'give the name of a file');
  // what is replaced stays until the new text is whole
  const draft = force ? `${path}.part` : path;
  if (force) rmSync(draft, { force: true });
  const file = open(draft, path);
  return {
    write: (text) => {
      try {
        const bytes = Buffer.from(text);
        for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
        fsyncSync(file);
        closeSync(file);
        if (force) renameSync(draft, path);
      } catch (cause) {
        throw unwritable(path, cause);
      }
    },
    cancel: () => {
      closeSync(file);
      rmSync(draft, { force: true });
    },
  };
}

function open(draft: string, path: string): number {
  try {
    return openSync(draft, 'wx', 0o600);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')
      throw usage(`${path} is there already, and may hold a secret`, 'give another name, or --force');
    throw unwritable(path, cause);
  }
}

const unwritable = (path: string, cause: unknown): CliError => {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new CliError(exit.error, `cannot write ${path}: ${reason}`, { code: 'WRITE_FAILED', cause });
};

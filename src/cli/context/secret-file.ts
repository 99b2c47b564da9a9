/**
 * A file for a secret that gov shows once. gov creates the file before the secret, so that no secret is lost for want of
 * a writable place. Only the user can read it. A crash in between leaves an empty file, which the next call rejects.
 * Tested by `test/cli/commands/keys/create.test.ts`.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { writeAll } from '../../files/durable.ts';
import { whyUnwritable } from '../../files/write-fault.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { isStreamAt } from '../terminal/output-file.ts';

export interface SecretFile {
  /** The secret is durable once this returns. Errors: exit 1 with the reason. */
  write(text: string): void;
  /** Removes the file: no secret will come. */
  cancel(): void;
}

/** Flags of every command that makes a secret. `what`: the key, the token. */
export const secretFlags = (what: string) =>
  ({
    out: {
      type: 'string',
      value: 'FILE',
      description: `Write ${what} to this file, readable by you alone, instead of showing it`,
    },
    force: { type: 'boolean', description: 'Replace the file of --out' },
    showSecret: {
      type: 'boolean',
      description: `Print ${what} also where standard output is no terminal`,
    },
  }) as const;

export interface SecretPlace {
  readonly out: string | undefined;
  readonly force: boolean;
  readonly showSecret: boolean;
}

/**
 * Errors: exit 2, before a secret exists, if `-o id` would drop it, or if it would go into a pipe or a file that others
 * read, such as the log of a pipeline, unless the caller asks for that.
 */
export function refuseOpenPlace(
  { format, settings }: { readonly format: string; readonly settings: { readonly tty: boolean } },
  { out, showSecret }: Pick<SecretPlace, 'out' | 'showSecret'>,
): void {
  if (out !== undefined) return;
  if (format === 'id')
    throw usage(
      '--output id: expected --out FILE as well; without it the secret would be lost',
      'add --out FILE, or use -o json',
    );
  if (settings.tty || showSecret) return;
  throw usage(
    'expected --out FILE, because standard output is no terminal: a pipe, a log or a file would keep the secret; nothing was made',
    '--out FILE writes it for you alone; --show-secret prints it anyway',
  );
}

/** Errors: exit 2 for an existing file without `force`, and for a pipe or a device. */
export function reserveSecretFile(path: string, { force }: { force: boolean }): SecretFile {
  if (isStreamAt(path))
    throw usage(`${path}: expected a file for the secret, got a pipe or a device`, 'give the name of a file');
  // the old file stays until the new text is whole
  const draft = force ? `${path}.part` : path;
  if (force) rmSync(draft, { force: true });
  const file = open(draft, path);
  return {
    write: (text) => {
      try {
        writeAll(file, Buffer.from(text));
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
      throw usage(`${path} exists and may hold a secret`, 'give another name, or --force');
    throw unwritable(path, cause);
  }
}

const unwritable = (path: string, cause: unknown): CliError =>
  new CliError(exit.error, `cannot write ${path}: ${whyUnwritable(cause)}`, { code: 'WRITE_FAILED', cause });

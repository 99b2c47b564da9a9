/** Opens a page in the user's browser. Tested by `test/cli/commands/usage/show.test.ts` with an opener of its own. */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { CliError, exit } from '../program/exit.ts';
import type { Io } from './io.ts';

/** An opener that runs longer has succeeded: it ends with the browser. */
const patienceMs = 1000;

/**
 * Returns null once the opener has the address, else why no browser opened: the caller prints the address, so that a
 * person opens it elsewhere. Errors: exit 1 for an address that is not a page.
 */
export async function openPage(address: string, env: Io['env']): Promise<string | null> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new CliError(
      exit.error,
      `expected the address of a page, got ${JSON.stringify(address.slice(0, 64))}`,
    );
  return open(url.href, env);
}

/** Opens a file in the user's program for its kind. Returns null, or why nothing opened. */
export const openPath = (path: string, { cwd, env }: Pick<Io, 'cwd' | 'env'>): Promise<string | null> =>
  open(resolve(cwd, path), env);

async function open(target: string, env: Io['env']): Promise<string | null> {
  const [program, ...words] = opener();
  const child = spawn(program, [...words, target], { stdio: 'ignore', detached: true, env: { ...env } });
  const code = await new Promise<number | string | null>((resolve) => {
    child.once('error', (cause: NodeJS.ErrnoException) => resolve(cause.code ?? 'ERROR'));
    child.once('exit', resolve);
    setTimeout(resolve, patienceMs, 0).unref();
  });
  child.unref();
  if (code === 0) return null;
  return code === 'ENOENT'
    ? `${program} is not installed here`
    : `${program} ended with ${code ?? 'a signal'}`;
}

function opener(): readonly [program: string, ...words: string[]] {
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['xdg-open'];
}

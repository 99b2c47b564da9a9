/** Opens a page in the user's browser. Tested by `test/cli/commands/usage/show.test.ts` with an opener of its own. */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { CliError, exit } from '../program/exit.ts';
import type { Io } from './io.ts';

/** An opener that runs longer has succeeded: it ends with the browser. */
const patienceMs = 1000;

/** Resolves once the opener has the address. Errors: exit 1 without an opener, or for an address that is not a page. */
export async function openPage(address: string, env: Io['env']): Promise<void> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new CliError(
      exit.error,
      `expected the address of a page, got ${JSON.stringify(address.slice(0, 64))}`,
    );
  await open(url.href, env);
}

/** Opens a file in the user's program for its kind. Errors: exit 1 without an opener. */
export const openPath = (path: string, { cwd, env }: Pick<Io, 'cwd' | 'env'>): Promise<void> =>
  open(resolve(cwd, path), env);

async function open(target: string, env: Io['env']): Promise<void> {
  const [program, ...words] = opener();
  const child = spawn(program, [...words, target], { stdio: 'ignore', detached: true, env: { ...env } });
  const code = await new Promise<number | string | null>((resolve) => {
    child.once('error', (cause: NodeJS.ErrnoException) => resolve(cause.code ?? 'ERROR'));
    child.once('exit', resolve);
    setTimeout(resolve, patienceMs, 0).unref();
  });
  child.unref();
  if (code === 0) return;
  throw new CliError(exit.error, `cannot open it: ${program} ended with ${code ?? 'a signal'}`, {
    hint: `open it yourself: ${target}`,
  });
}

function opener(): readonly [program: string, ...words: string[]] {
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['xdg-open'];
}

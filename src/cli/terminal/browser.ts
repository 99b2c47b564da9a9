/** Opens a page in the user's browser. `test/cli/commands/usage/show.test.ts` runs it with an opener of its own. */
import { spawn } from 'node:child_process';
import { CliError, exit } from '../program/exit.ts';
import type { Io } from './io.ts';

/** An opener that has not failed by then goes on for as long as the browser does. */
const patienceMs = 1000;

/** Resolves once the opener has taken the address. Errors: exit 1 where there is none, or the address is no page. */
export async function openPage(address: string, env: Io['env']): Promise<void> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new CliError(
      exit.error,
      `expected the address of a page, got ${JSON.stringify(address.slice(0, 64))}`,
    );
  const [program, ...words] = opener();
  const child = spawn(program, [...words, url.href], { stdio: 'ignore', detached: true, env: { ...env } });
  const code = await new Promise<number | string | null>((resolve) => {
    child.once('error', (cause: NodeJS.ErrnoException) => resolve(cause.code ?? 'ERROR'));
    child.once('exit', resolve);
    setTimeout(resolve, patienceMs, 0).unref();
  });
  child.unref();
  if (code === 0) return;
  throw new CliError(exit.error, `no browser was opened: ${program} ended with ${code ?? 'a signal'}`, {
    hint: `open it yourself: ${url.href}`,
  });
}

function opener(): readonly [program: string, ...words: string[]] {
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['xdg-open'];
}

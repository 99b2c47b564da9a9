/**
 * Questions at the terminal. If no person can answer, the error names the flag that does.
 * Tested by `test/cli/terminal/ask.test.ts`.
 */
import { createInterface } from 'node:readline';
import { shellWord } from '../../core/shell-word.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import type { Io } from './io.ts';
import type { Out } from './out.ts';
import { safe } from './safe.ts';

export interface Prompter {
  readonly out: Out;
  readonly io: Io;
  readonly signal: AbortSignal;
}

/**
 * Resolves on --yes or on a yes. `fact`: what will happen; `flags`: how to answer without a person. Errors: exit 2
 * otherwise.
 */
export async function confirm(fact: string, flags: string, asking: Prompter): Promise<void> {
  const { out } = asking;
  if (out.settings.yes) return;
  if (!out.settings.interactive) throw usage(fact, `nobody can answer here: give ${flags}`);
  await out.prompt(safe`${fact}. Continue? [y/N] `);
  if (/^y(es)?$/i.test((await readLine(asking)).trim())) return;
  throw declined();
}

/** As `confirm`, for a change that cannot be undone: the person types the name, or --confirm gives it. */
export async function confirmName(
  { fact, name, given }: { fact: string; name: string; given: string | undefined },
  asking: Prompter,
): Promise<void> {
  const { out } = asking;
  if (out.settings.yes || given === name) return;
  if (given !== undefined)
    throw usage(`--confirm: expected ${JSON.stringify(name)}, got ${JSON.stringify(given)}`);
  if (!out.settings.interactive)
    throw usage(fact, `nobody can answer here: give --confirm ${shellWord(name)}, or --yes`);
  await out.prompt(safe`${fact}. Type its name to continue (${name}): `);
  if ((await readLine(asking)).trim() !== name) throw declined();
}

const declined = (): CliError => new CliError(exit.usage, 'nothing was changed', { code: 'DECLINED' });

/** Returns one line; empty at the end of input. The terminal keeps its mode, so that Ctrl-C sends a signal. */
async function readLine({ io, signal }: Prompter): Promise<string> {
  signal.throwIfAborted();
  const lines = createInterface({ input: io.stdin, terminal: false });
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve);
      lines.once('close', () => resolve(''));
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  } finally {
    lines.close();
  }
}

/**
 * Questions to whoever sits at the terminal. Where nobody can be asked, the refusal names the flag that answers.
 * `test/cli/terminal/ask.test.ts` holds both.
 */
import { createInterface } from 'node:readline';
import { CliError, exit, usage } from '../program/exit.ts';
import type { Io } from './io.ts';
import type { Out } from './out.ts';
import { safe } from './safe.ts';

export interface Asking {
  readonly out: Out;
  readonly io: Io;
  readonly signal: AbortSignal;
}

/** Resolves on --yes, or on a yes. Errors: exit 2 otherwise. `fact`: what is so; `flags`: how to answer without a person. */
export async function confirm(fact: string, flags: string, asking: Asking): Promise<void> {
  const { out } = asking;
  if (out.settings.yes) return;
  if (!out.settings.interactive) throw usage(fact, `nobody can be asked here: give ${flags}`);
  await out.prompt(safe`${fact}. Go on? [y/N] `);
  if (/^y(es)?$/i.test((await readLine(asking)).trim())) return;
  throw declined();
}

/** As `confirm`, for what cannot be undone: the name of what goes has to be typed, or given by --confirm. */
export async function confirmName(
  { fact, name, given }: { fact: string; name: string; given: string | undefined },
  asking: Asking,
): Promise<void> {
  const { out } = asking;
  if (out.settings.yes || given === name) return;
  if (given !== undefined)
    throw usage(`--confirm: expected ${JSON.stringify(name)}, got ${JSON.stringify(given)}`);
  if (!out.settings.interactive)
    throw usage(fact, `nobody can be asked here: give --confirm ${JSON.stringify(name)}, or --yes`);
  await out.prompt(safe`${fact}. Type its name to go on (${name}): `);
  if ((await readLine(asking)).trim() !== name) throw declined();
}

const declined = (): CliError => new CliError(exit.usage, 'nothing was changed', { code: 'DECLINED' });

/** One line; empty where the input ends. The terminal stays as it is, so that Ctrl-C is a signal. */
async function readLine({ io, signal }: Asking): Promise<string> {
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

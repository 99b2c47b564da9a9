/** Reads a secret from a file that not every user can read, or from standard input. Tested by `test/cli/commands/cron/run.test.ts`. */
import { resolve } from 'node:path';
import { readSecret } from '../context/config.ts';
import { readInput, type InputIo } from '../terminal/input.ts';

export async function secretIn(file: string, from: InputIo): Promise<string> {
  if (file !== '-') return readSecret(resolve(from.io.cwd, file));
  const { bytes } = await readInput(file, from);
  return Buffer.from(bytes).toString().trim();
}

/**
 * The tool from its words to an exit code. It sets `process.exitCode` and lets the process end by itself, so that a pipe
 * gets all of its output. Tested by `test/cli/main.test.ts`, which runs it as a child process.
 */
import { version } from '../client/version.ts';
import { processIo } from './terminal/io.ts';
import type { Io } from './terminal/io.ts';
import { run } from './run.ts';

/** Runs the tool on these words (without `node` and the script). Never throws. */
export async function main(argv: readonly string[], io: Io = processIo()): Promise<void> {
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    io.stdout.write(`gov ${version}\n`);
    return;
  }
  if (argv[0] === '__complete') return (await import('./completion/complete.ts')).complete(argv.slice(1), io);
  process.exitCode = await run(argv, io);
}

/**
 * The tool from words to exit code. Sets `process.exitCode` and lets the process end by itself, so that a
 * pipe gets all of its output. SIGINT and SIGTERM end the work by a signal; a second one ends the process.
 * `test/cli/main.test.ts` runs it as a child process.
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
  process.exitCode = await run(argv, io);
}

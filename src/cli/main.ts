/**
 * The tool from its words to an exit code. It sets `process.exitCode` and lets the process end by itself, so that a pipe
 * gets all of its output. Tested by `test/cli/main.test.ts`, which runs it as a child process.
 */
import { versionLine } from '../client/version.ts';
import { processIo } from './terminal/io.ts';
import type { Io } from './terminal/io.ts';
import { exit } from './program/exit.ts';
import { keepHangupIgnored } from './program/hangup.ts';
import { run } from './run.ts';

/** Runs the tool on these words (without `node` and the script). Never throws. */
export async function main(argv: readonly string[], given?: Io): Promise<void> {
  if (given === undefined) keepHangupIgnored();
  const io = given ?? ioOfProcess();
  if (io === null) return;
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    io.stdout.write(`${versionLine}\n`);
    return;
  }
  if (argv[0] === '__complete') return (await import('./completion/complete.ts')).complete(argv.slice(1), io);
  if (argv[0] === '__update') return (await import('./update/check.ts')).checkForUpdate(io);
  const code = await run(argv, io);
  process.exitCode = code;
  if (code >= exit.interrupted || !mayNotice(argv, io)) return;
  const { noticeUpdate, startBehind } = await import('./update/notice.ts');
  noticeUpdate(io, (words) => startBehind(words, io.env));
}

/** Null, after a message, where the working directory was removed: no relative path means anything there. */
function ioOfProcess(): Io | null {
  try {
    return processIo();
  } catch (cause) {
    if (!(cause instanceof Error && 'syscall' in cause && cause.syscall === 'uv_cwd')) throw cause;
    process.stderr.write(
      'error: expected a working directory, got one that was removed or that this user may not read\n' +
        '  cd to another directory, then run the command again\n',
    );
    process.exitCode = exit.usage;
    return null;
  }
}

/** A notice about a release is for a person: no pipe, no CI, no --quiet. */
const mayNotice = (argv: readonly string[], { stdout, stderr, env }: Io): boolean =>
  stdout.isTTY === true &&
  stderr.isTTY === true &&
  !env['CI'] &&
  !argv.some((word) => word === '-q' || word === '--quiet');

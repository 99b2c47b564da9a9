/**
 * `gov events push`: converts words and flags to a push, with the service as its sink.
 * Tested by `test/cli/push/command.test.ts` against a real plane.
 */
import { join, resolve } from 'node:path';
import { limits } from '../../../contract/limits.ts';
import { parseTimestamp } from '../../../core/time.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { clientSink } from '../../push/client-sink.ts';
import { startProgress } from '../../progress/show.ts';
import { stateDirectory } from '../../push/import-time.ts';
import { eventsPush, type PushOptions } from '../../push/run.ts';
import { targetOf } from '../../push/target.ts';
import { safe } from '../../terminal/safe.ts';
import type { eventsPush as spec } from '../../specs/record/events.ts';

type PushCall = Invocation<typeof spec>;

/** Longest --idempotency-key of this command: each batch appends a hash, and its halves append numbers. */
const keyPrefixChars = 180;

export const run: Run<typeof spec> = (given) => {
  const { io, out, session, signal } = given;
  return eventsPush(optionsOf(given), {
    out,
    stdin: io.stdin,
    cwd: io.cwd,
    now: io.now,
    signal,
    tell: (text) => out.prompt(safe`${text}\n`),
    progress: startProgress(given),
    stateDirectory: stateDirectory(io.env),
    target: () => targetOf(given),
    openSink: async () => clientSink(await session.client()),
    openLog: () => session.client(),
  });
};

function optionsOf({ args, flags, settings, io }: PushCall): PushOptions {
  requireFrom(flags);
  const spool = flags.spool ?? (flags.resume ? '' : undefined);
  return {
    files: filesOf(args.file, flags.resume, io.stdin.isTTY === true),
    format: flags.format ?? 'auto',
    from: flags.from,
    run: flags.run,
    runPrefix: flags.runPrefix,
    importedAt: flags.importTime === undefined ? undefined : (parseTimestamp(flags.importTime) ?? undefined),
    batchSize: flags.batchSize ?? limits.batchEvents,
    concurrency: flags.concurrency ?? 1,
    spool:
      spool === undefined
        ? undefined
        : spool === ''
          ? join(stateDirectory(io.env), 'spool')
          : resolve(io.cwd, spool),
    resume: flags.resume,
    dryRun: flags.dryRun,
    allowRemainder: flags.allowRemainder,
    failOn: flags.failOn ?? 'rejected',
    retries: settings.retries ?? limits.clientRetries,
    keyPrefix: keyPrefixOf(settings.idempotencyKey),
  };
}

function requireFrom({ from, format, run, runPrefix, importTime }: PushCall['flags']): void {
  if (from === undefined) {
    const flag = [
      ['--run', run],
      ['--run-prefix', runPrefix],
      ['--import-time', importTime],
    ].find(([, value]) => value !== undefined)?.[0];
    if (flag !== undefined) throw usage(`${flag}: expected together with --from, which imports recordings`);
  } else if (format !== undefined) {
    throw usage('--format: expected without --from, because each recording has its own format');
  }
}

function filesOf(words: readonly string[], resume: boolean, isTerminal: boolean): readonly string[] {
  if (words.length > 0 || resume) return words;
  if (isTerminal)
    throw usage('expected FILE or events on standard input, got a terminal', 'gov events push --help');
  return ['-'];
}

function keyPrefixOf(key: string | undefined): string {
  if (key === undefined) return 'push-';
  if (key.length <= keyPrefixChars) return `${key}-`;
  throw usage(`--idempotency-key: expected at most ${keyPrefixChars} characters here, got ${key.length}`);
}

/**
 * `gov events watch`: converts words and flags to a watch, with the service as its sink.
 * Tested by `test/cli/commands/events/watch.test.ts` against a real plane.
 */
import { resolve } from 'node:path';
import { limits } from '../../../contract/limits.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { clientSink } from '../../push/client-sink.ts';
import { stateDirectory } from '../../push/import-time.ts';
import { targetOf } from '../../push/target.ts';
import type { eventsWatch as spec } from '../../specs/record/events.ts';
import { WatchReport } from '../../watch/report.ts';
import { watchFolder } from '../../watch/run.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, io, out, session, settings, signal } = call;
  if (out.format === 'json' || out.format === 'csv' || out.format === 'id')
    throw usage(
      `--output: expected ndjson or table for a stream, got ${out.format}`,
      'gov events watch DIR -o ndjson',
    );
  const report = new WatchReport(out, io.now);
  return watchFolder(
    {
      folder: resolve(io.cwd, args.folder),
      from: flags.from ?? 'auto',
      runPrefix: flags.runPrefix,
      allowRemainder: flags.allowRemainder,
      once: flags.once,
      pollMs: limits.watchPollSeconds * 1000,
      retries: settings.retries ?? limits.clientRetries,
      keyPrefix: 'push-',
    },
    {
      now: io.now,
      signal,
      stateDirectory: stateDirectory(io.env),
      target: () => targetOf(call),
      openSink: async () => clientSink(await session.client()),
      openLog: () => session.client(),
      say: (note) => report.say(note),
      warn: (text) => out.warn(text),
    },
  );
};

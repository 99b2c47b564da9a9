/**
 * `gov plane telemetry show`: the exact bytes, one message per line.
 * Tested by `test/cli/commands/plane/telemetry.test.ts`.
 */
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { Safe, safe } from '../../terminal/safe.ts';
import type { planeTelemetryShow as spec } from '../../specs/operate/plane-telemetry.ts';

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const asked = [flags.pending, flags.last, flags.all].filter(Boolean).length;
  if (asked > 1) throw usage(`expected one of --pending, --last and --all, got ${asked}`);
  const what = flags.all ? 'all' : flags.last ? 'last' : 'pending';
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { shownMessages } = await import('../../../../plane/telemetry/by-file.ts');
  let messages = 0;
  for (const text of shownMessages(dataDir, what)) {
    messages += 1;
    await (out.settings.tty ? out.line(Safe.clean(text)) : out.raw(Buffer.from(`${text}\n`)));
  }
  if (messages === 0)
    await out.note(what === 'pending' ? safe`no message waits` : safe`no message was sent yet`);
};

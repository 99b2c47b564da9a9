/** `gov plane telemetry show`: the exact bytes, one message a line. `test/cli/planetelemetry.test.ts` proves it. */
import { resolve } from 'node:path';
import type { Run } from '../command.ts';
import { usage } from '../exit.ts';
import { Safe, safe } from '../safe.ts';
import type { planeTelemetryShow as spec } from '../specs/telemetry.ts';

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  if (flags.pending && flags.last) throw usage('expected --pending or --last, got both');
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { shownMessages } = await import('../../../plane/byfile.ts');
  let messages = 0;
  for (const text of shownMessages(dataDir, flags.last ? 'last' : 'pending')) {
    messages += 1;
    await (out.settings.tty ? out.line(Safe.clean(text)) : out.raw(Buffer.from(`${text}\n`)));
  }
  if (messages === 0) await out.note(flags.last ? safe`nothing was sent yet` : safe`nothing waits`);
};

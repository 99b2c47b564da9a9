/**
 * `gov plane telemetry send`: creates a report and sends waiting messages.
 * Tested by `test/plane/telemetry/send-now.test.ts`.
 */
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import { exit, type ExitCode } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeTelemetrySend as spec } from '../../specs/operate/plane-telemetry.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { sendUsage } = await import('../../../../plane/telemetry/send-now.ts');
  const sent = await sendUsage({ dataDir, env: io.env });
  const { settled, refused, reportsWaiting, challengesOpen, failure } = sent;
  out.verdict = failure !== null ? exitOf(failure) : refused > 0 ? exit.checkFailed : exit.ok;
  if (!out.isHuman) await out.one(sent, plainView(Object.keys(sent)));
  else if (failure === null) await out.line(safe`${out.styles.green('✓')} ${settled} messages settled`);
  if (refused > 0)
    await out.warn(safe`the service refused ${refused}; reasons: gov plane telemetry show --last`);
  if (failure !== null)
    await out.warn(safe`${reportsWaiting} reports and ${challengesOpen} responses wait: ${failure}`);
  return out.verdict;
};

/** The first word of a failure decides (`plane/telemetry/settle.ts`). */
const exitOf = (failure: string): ExitCode =>
  failure.startsWith('credential_refused') ? exit.denied : exit.network;

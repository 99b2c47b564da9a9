/**
 * `gov plane usage receipts FILE`: reads the service's responses to exported messages.
 * Tested by `test/cli/commands/plane/telemetry.test.ts`.
 */
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import { exit } from '../../program/exit.ts';
import { readInput } from '../../terminal/input.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeUsageReceipts as spec } from '../../specs/operate/plane-telemetry.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session, io, signal }) => {
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { bytes } = await readInput(args.file, { io, signal });
  const { takeReceipts } = await import('../../../../plane/telemetry/by-file.ts');
  const taken = await takeReceipts(dataDir, Buffer.from(bytes).toString().split('\n'));
  out.verdict = taken.refused > 0 ? exit.checkFailed : exit.ok;
  if (out.isHuman) {
    const { accepted, refused, unsettled, challenges } = taken;
    await out.line(safe`${accepted} accepted, ${refused} refused, ${unsettled} to send again`);
    if (challenges > 0) await out.note(safe`${challenges} challenges arrived; the next export answers them`);
  } else await out.one(taken, plainView(Object.keys(taken)));
  if (taken.held !== null) await out.warn(safe`${taken.held}`);
  return out.verdict;
};

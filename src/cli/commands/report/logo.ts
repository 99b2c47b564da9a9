/** `gov report logo FILE`. Tested by `test/cli/commands/report/run.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import type { Run } from '../../program/command.ts';
import { usage } from '../../program/exit.ts';
import { readInput } from '../../program/input.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import type { reportLogo as spec } from './spec.ts';

export const run: Run<typeof spec> = async ({ args, out, session, io, signal, settings }) => {
  const { bytes } = await readInput(args.file, { io, signal });
  const most = limits.logoBytes;
  if (bytes.length > most)
    throw usage(`${args.file}: expected a picture of at most ${most} bytes, got ${bytes.length}`);
  const client = await session.client();
  const { body } = await client.uploadLogo({ file: bytes, idempotencyKey: settings.idempotencyKey });
  await out.one(body, viewOf('uploadLogo'));
};

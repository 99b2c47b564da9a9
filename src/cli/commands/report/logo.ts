/** `gov report logo FILE`. Tested by `test/cli/commands/report/run.test.ts`. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { limits } from '../../../contract/limits.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { unreadable } from '../../program/flags.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import type { reportLogo as spec } from '../../specs/prove/report.ts';

export const run: Run<typeof spec> = async ({ args, out, session, io, settings }) => {
  const bytes = await readFile(resolve(io.cwd, args.file)).catch((cause: unknown) => {
    throw unreadable(args.file, cause);
  });
  const most = limits.logoBytes;
  if (bytes.length > most)
    throw usage(`${args.file}: expected a picture of at most ${most} bytes, got ${bytes.length}`);
  const client = await session.client();
  const { body } = await client.uploadLogo({ file: bytes, idempotencyKey: settings.idempotencyKey });
  await out.one(body, viewOf('uploadLogo'));
};

/** `gov forward test`: one marked record, and what the receiver made of it. Tested by `test/cli/commands/forward.test.ts`. */
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import { exit } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import { plainView } from '../../terminal/view.ts';
import type { forwardTest as spec } from '../../specs/operate/forward.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session, io }) => {
  const { tryTarget } = await import('../../../host/data/forwards.ts');
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const asked = { env: io.env, nowMs: Date.now(), random: randomBytes(6).toString('hex') };
  const tried = await tryTarget(dataDir, args.name, asked);
  const { ok, said, id, to, durationMs } = tried;
  if (!out.isHuman) await out.one(tried, plainView(['name', 'ok', 'said', 'id']));
  else {
    const verdict = ok ? 'delivered' : 'not delivered';
    await out.lines([safe`${verdict} to ${to} in ${durationMs} ms: ${said}`, safe`id of the record: ${id}`]);
  }
  return ok ? exit.ok : exit.checkFailed;
};

/** `gov log checkpoint`: the bytes that were signed, as they are. */
import { resolve } from 'node:path';
import type { Run } from '../command.ts';
import { writeWhole } from '../files.ts';
import { safe } from '../safe.ts';
import type { logCheckpoint as spec } from '../specs/operate.ts';

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const { body } = await (await session.client()).getCheckpoint();
  const note = Buffer.from(String(body));
  if (flags.out !== undefined) {
    writeWhole(resolve(io.cwd, flags.out), note);
    return out.note(safe`wrote ${flags.out}`);
  }
  if (io.stdout.isTTY !== true) return out.raw(note);
  return out.lines(
    String(body)
      .trimEnd()
      .split('\n')
      .map((line) => safe`${line}`),
  );
};

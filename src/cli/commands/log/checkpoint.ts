/** `gov log checkpoint`: prints the exact signed bytes. Tested by `test/plane/data/recover.test.ts`. */
import type { Run } from '../../context/command.ts';
import { isStdout, writeOutput } from '../../terminal/output-file.ts';
import { safe } from '../../terminal/safe.ts';
import type { logCheckpoint as spec } from '../../specs/prove/log.ts';

export const run: Run<typeof spec> = async (call) => {
  const { flags, out, session, io } = call;
  const { body } = await (await session.client()).getCheckpoint();
  const note = Buffer.from(String(body));
  if (flags.out !== undefined && !isStdout(flags.out, call)) {
    await writeOutput(flags.out, note, call);
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

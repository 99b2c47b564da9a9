/**
 * `gov plane serve`: runs until a signal or a disk error (exit 74, EX_IOERR). Logs go to standard error.
 * Tested by `test/cli/commands/plane/init.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeServe as spec } from '../../specs/operate/plane.ts';

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const { data, init = false, ...options } = flags;
  const dataDir = data ?? session.dataDir();
  if (init) {
    const { planeInit } = await import('../../../../plane/data/init.ts');
    await planeInit({ dataDir });
  }
  const { planeServe } = await import('../../../../plane/serve/start.ts');
  const plane = await planeServe({ ...options, dataDir, env: io.env });
  if (io.stderr.isTTY === true) await out.note(safe`serving ${dataDir} at ${plane.baseUrl}; Ctrl-C stops it`);
  return plane.untilStopped();
};

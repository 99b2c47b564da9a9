/**
 * `gov witness serve`: runs until a signal or a disk error (exit 74, EX_IOERR). Logs go to standard error.
 * Tested by `test/docs/witness.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { witnessServe as spec } from '../../specs/operate/witness.ts';

export const run: Run<typeof spec> = async ({ flags, out, io }) => {
  const { data: dataDir, listen, moved, index } = flags;
  const { witnessServe } = await import('../../../host/witness/server.ts');
  const witness = await witnessServe({ dataDir, listen, moved, index, env: io.env });
  if (io.stderr.isTTY === true) await out.note(safe`witnessing at ${witness.url}; Ctrl-C stops it`);
  return witness.untilStopped();
};

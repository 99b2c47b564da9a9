/** `gov witness serve`: runs until a signal or a storage fault (exit 74, EX_IOERR). Logs go to standard error. */
import type { Run } from '../../program/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { witnessServe as spec } from './spec.ts';

export const run: Run<typeof spec> = async ({ flags, out, io }) => {
  const { data: dataDir, listen, moved } = flags;
  const { witnessServe } = await import('../../../host/witness/server.ts');
  const witness = await witnessServe({ dataDir, listen, moved });
  if (io.stderr.isTTY === true) await out.note(safe`witnessing at ${witness.url}; Ctrl-C stops it`);
  return witness.untilStopped();
};

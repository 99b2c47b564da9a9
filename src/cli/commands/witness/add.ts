/** `gov witness add`: an index witness that cannot reach a log. Tested by `test/docs/index-witness.test.ts`. */
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import { fileReread } from '../../terminal/spool.ts';
import type { witnessAdd as spec } from '../../specs/operate/witness.ts';

export const run: Run<typeof spec> = async ({ args, flags, io, out, signal }) => {
  const { witnessAdd } = await import('../../../host/witness/server.ts');
  const { read } = fileReread(resolve(io.cwd, args.file), signal);
  await out.raw(Buffer.from(await witnessAdd({ dataDir: flags.data, read })));
};

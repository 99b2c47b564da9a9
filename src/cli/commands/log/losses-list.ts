/** `gov log losses list`. Tested by `test/cli/commands/log/losses.test.ts`. */
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import type { logLossesList as spec } from '../../specs/prove/log.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ flags, io, out, session }) => {
  const { listLosses } = await import('../../../host/data/losses.ts');
  const losses = listLosses(resolve(io.cwd, flags.data ?? session.dataDir()));
  const items = losses.map(({ projectId, from, lost, at, acked }) => ({ projectId, from, lost, at, acked }));
  async function* pages() {
    yield { items, nextCursor: null };
  }
  await out.list(pages(), plainView(['projectId', 'from', 'lost', 'at']), 'losses');
};

/** `gov replay get ID`. Tested by `test/cli/commands/replay/run.test.ts`. */
import type { Run } from '../../context/command.ts';
import { printReplay } from '../../replay/drift.ts';
import type { replayGet as spec } from '../../specs/prove/replay.ts';

export const run: Run<typeof spec> = async ({ args, out, session }) => {
  const client = await session.client();
  const { body } = await client.getReplay({ params: { replayId: args.replayId } });
  await printReplay(out, body);
};

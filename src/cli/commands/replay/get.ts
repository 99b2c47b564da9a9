/** `gov replay get ID`. */
import type { Run } from '../../program/command.ts';
import { printReplay } from '../../terminal/replay.ts';
import type { replayGet as spec } from './spec.ts';

export const run: Run<typeof spec> = async ({ args, out, session }) => {
  const client = await session.client();
  const { body } = await client.getReplay({ params: { replayId: args.replayId } });
  await printReplay(out, body);
};

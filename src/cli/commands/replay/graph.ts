/** `gov replay graph FILE`: a declared graph against the one that events give. */
import type { GraphReplayRequest } from '../../../contract/replay.ts';
import type { Run } from '../../program/command.ts';
import { objectOf, readInput } from '../../program/input.ts';
import { replayed } from '../../terminal/replay.ts';
import type { replayGraph as spec } from './spec.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { args, io, session, settings, signal } = invocation;
  // what `graphs get -o json` says beside these is left out
  const { runId, nodes, edges } = objectOf(await readInput(args.file, { io, signal }));
  const client = await session.client();
  const { body } = await client.createGraphReplay({
    // the service checks the members against its schema, and says where
    body: { runId, nodes, edges } as unknown as GraphReplayRequest,
    idempotencyKey: settings.idempotencyKey,
  });
  return replayed(invocation, client, body.jobId);
};

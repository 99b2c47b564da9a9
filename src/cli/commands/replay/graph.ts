/**
 * `gov replay graph FILE`: compares a declared graph with the graph of the events.
 * Tested by `test/cli/commands/replay/run.test.ts`.
 */
import type { GraphReplayRequest } from '../../../contract/replay.ts';
import type { Run } from '../../context/command.ts';
import { objectOf, readInput } from '../../terminal/input.ts';
import { checkReports } from '../../ci/report.ts';
import { replayed } from '../../replay/drift.ts';
import type { replayGraph as spec } from '../../specs/prove/replay.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { args, io, session, settings, signal } = invocation;
  // drops the other members of `graphs get -o json`
  const { runId, nodes, edges } = objectOf(await readInput(args.file, { io, signal }));
  checkReports(invocation);
  const client = await session.client();
  const { body } = await client.createGraphReplay({
    // the service checks the members against its schema
    body: { runId, nodes, edges } as unknown as GraphReplayRequest,
    idempotencyKey: settings.idempotencyKey,
  });
  return replayed(invocation, client, body.jobId);
};

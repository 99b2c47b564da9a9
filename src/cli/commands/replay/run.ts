/** `gov replay run --run R`: starts a job, or waits for it. Tested by `test/cli/commands/replay/run.test.ts`. */
import type { SnapshotInput } from '../../../contract/governance.ts';
import type { Run } from '../../context/command.ts';
import { objectOf, readInput } from '../../terminal/input.ts';
import { checkReports } from '../../ci/report.ts';
import { replayed } from '../../replay/drift.ts';
import type { replayRun as spec } from '../../specs/prove/replay.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, io, session, settings, signal } = invocation;
  const { against, snapshot } = flags;
  // the service checks the members against its schema, so only "is an object" is checked here
  const replaySnapshot =
    snapshot === undefined
      ? undefined
      : (objectOf(await readInput(snapshot, { io, signal })) as unknown as SnapshotInput);
  checkReports(invocation);
  const client = await session.client();
  const { body } = await client.createReplay({
    body: {
      runId: flags.run,
      ...(against === undefined ? {} : { compareRunId: against }),
      ...(replaySnapshot === undefined ? {} : { replaySnapshot }),
    },
    idempotencyKey: settings.idempotencyKey,
  });
  return replayed(invocation, client, body.jobId);
};

/**
 * Runs a replay job: replays in a worker thread, then appends leaf `gov.replay/1`, the result and, for a
 * graph, its declaration at once. A crash before the store answers leaves nothing, and the job runs again.
 * The store refuses a worker that lost its lease, so a replay is recorded once. Proven by
 * `test/service/replay/faults.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { ReplayRequest } from '../../contract/replay.ts';
import { draftReplay } from '../../core/decided/replay.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ClaimedJob } from '../../store/port/store.ts';
import { unlessOvertaken, untilStored } from '../call/overtaken.ts';
import { missingRun } from '../completeness/missing-run.ts';
import { append, type PlainEffect } from '../writes/append.ts';
import { prunedBelow } from '../events/run-stream.ts';
import { jobCompleted } from '../jobs/events.ts';
import type { Services } from '../port/services.ts';
import type { ReplayedRun } from '../call/work.ts';

/** RUN_HAS_NO_EVENTS, CONFLICT where the lease of the job was lost, and errors of the append. */
export async function runReplay(services: Services, job: ClaimedJob, signal: AbortSignal): Promise<void> {
  const { projectId, runId, createdMs, resultId: replayId, request } = job;
  if (replayId === null) throw new Error(`expected a replay in job ${job.jobId}, got none`);
  const events = Math.max(
    ...(await Promise.all(runsOf(job).map((run) => eventsOf(services, projectId, run)))),
  );
  const input = { projectId, runId, replayId, createdMs, request, salt: services.salt() };
  const replay = (): Promise<ReplayedRun> =>
    services.work
      .run('replay', input, { events, signal })
      .catch((error: unknown) => orMissing(services, job, error));
  if (!isOfGraph(request)) return complete(services, job, await replay());
  // another request may declare meanwhile, so that neither undoes the other, or seal: then it is compared only
  await untilStored(`the graph of run ${runId}`, async () => {
    const completing = complete(services, job, await replay()).then(() => 'completed' as const);
    return unlessOvertaken(completing, 'GRAPH_SEALED');
  });
}

/** The runs whose events are read. */
function runsOf({ runId, request }: ClaimedJob): string[] {
  if (isOfGraph(request)) return [runId];
  // the operation that accepted it checked and stored it
  const { compareRunId } = JSON.parse(request) as ReplayRequest;
  return compareRunId === undefined ? [runId] : [runId, compareRunId];
}

/** Throws the error; STORAGE_FAULT instead of RUN_HAS_NO_EVENTS where only the rows of a run are missing. */
async function orMissing(services: Services, job: ClaimedJob, error: unknown): Promise<never> {
  const { projectId } = job;
  const isMissing = error instanceof GovError && error.code === 'RUN_HAS_NO_EVENTS';
  if (!isMissing || prunedBelow(error) !== null) throw error;
  for (const runId of runsOf(job)) {
    if ((await eventsOf(services, projectId, runId)) > 0) continue;
    const found = await missingRun(services, { projectId, runId });
    if (found.code !== error.code) throw found;
  }
  throw error;
}

const eventsOf = async ({ store }: Services, projectId: string, runId: string): Promise<number> =>
  (await store.run(projectId, runId))?.events ?? 0;

/** A request is canonical JSON, and the first member of a graph's request is `edges`. */
const isOfGraph = (request: string): boolean => request.startsWith('{"edges":');

async function complete(services: Services, job: ClaimedJob, replayed: ReplayedRun): Promise<void> {
  const { projectId, runId, jobId, lease } = job;
  const { record, result, summary, declaration, altered } = replayed;
  await report(services, job, altered);
  const atMs = services.now();
  const effects: PlainEffect[] = [{ kind: 'completeJob', jobId, lease, result, summary, atMs }];
  if (declaration !== null) {
    const { declaredMs } = await services.store.graphState(projectId, runId);
    const { text, fromHash } = declaration;
    effects.push({ kind: 'declareGraph', runId, declaration: text, fromHash, atMs: declaredMs ?? atMs });
  }
  await append(services, {
    projectId,
    leaves: [
      draftReplay({ ...record, at: formatTimestamp(atMs) }, services.salt),
      jobCompleted(job, { nowMs: atMs, salt: services.salt }),
    ],
    effects,
  });
}

/** Reports altered leaves to the operator, by `/health` and by the log. The replay lists them as steps. */
async function report(
  { store, log }: Services,
  { projectId, runId }: ClaimedJob,
  altered: readonly number[],
): Promise<void> {
  for (const index of altered) {
    await store.leaf(projectId, index).catch((error: unknown) => {
      log.error(
        { err: error, runId, index },
        'expected every leaf as it was logged, got an altered one; run gov log fsck',
      );
    });
  }
}

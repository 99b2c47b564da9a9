/**
 * Runs a replay job: replays beside the recording thread, then one append of leaf `gov.replay/1`, the result and,
 * for a graph, its declaration. A crash before the store answers leaves nothing of it, and the job is run again; a
 * worker that lost its lease meanwhile is refused, so a replay is recorded once.
 * Proven by `test/service/replay/faults.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { ReplayRequest } from '../../contract/replay.ts';
import { draftReplay } from '../../core/decided/replay.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ClaimedJob } from '../../store/port/store.ts';
import { append, unmetered, type PlainEffect } from '../events/append.ts';
import type { Services } from '../dependencies.ts';
import type { Replayed } from '../call/work.ts';

const attempts = 3;

/** RUN_HAS_NO_EVENTS, CONFLICT where the lease of the job was lost, and what storing refuses with. */
export async function runReplay(services: Services, job: ClaimedJob): Promise<void> {
  const { projectId, runId, createdMs, resultId: replayId, request } = job;
  if (replayId === null) throw new Error(`job ${job.jobId} names no replay`);
  const events = Math.max(
    ...(await Promise.all(runsOf(job).map((run) => eventsOf(services, projectId, run)))),
  );
  const input = { projectId, runId, replayId, createdMs, request, salt: services.salt() };
  // whoever declares the run's graph meanwhile has to wait, so that neither undoes the other
  if (!isOfGraph(request))
    return complete(services, job, await services.work.run('replay', input, { events }));
  await services.runs.inTurn({ projectId, runId }, async () => {
    for (let attempt = 1; ; attempt++) {
      const replayed = await services.work.run('replay', input, { events });
      try {
        return await complete(services, job, replayed);
      } catch (error) {
        // sealed meanwhile by another process: then it is only compared
        const sealed = error instanceof GovError && error.code === 'GRAPH_SEALED';
        if (!sealed || attempt === attempts) throw error;
      }
    }
  });
}

/** The runs whose events are read. */
function runsOf({ runId, request }: ClaimedJob): string[] {
  if (isOfGraph(request)) return [runId];
  // stored by the operation that accepted it, which checked it
  const { compareRunId } = JSON.parse(request) as ReplayRequest;
  return compareRunId === undefined ? [runId] : [runId, compareRunId];
}

const eventsOf = async ({ store }: Services, projectId: string, runId: string): Promise<number> =>
  (await store.run(projectId, runId))?.events ?? 0;

/** Requests are canonical, and of a graph's members `edges` is the first. */
const isOfGraph = (request: string): boolean => request.startsWith('{"edges":');

async function complete(services: Services, job: ClaimedJob, replayed: Replayed): Promise<void> {
  const { projectId, runId, jobId, lease } = job;
  const { record, result, summary, declaration, altered } = replayed;
  await report(services, job, altered);
  const atMs = services.now();
  const effects: PlainEffect[] = [{ kind: 'completeJob', jobId, lease, result, summary, atMs }];
  if (declaration !== null) {
    const { declaredMs } = await services.store.graphState(projectId, runId);
    effects.push({ kind: 'declareGraph', runId, declaration, atMs: declaredMs ?? atMs });
  }
  await append(services, {
    projectId,
    leaves: [draftReplay({ ...record, at: formatTimestamp(atMs) }, services.salt)],
    meter: unmetered,
    effects,
  });
}

/** The replay told of them as steps; the operator hears of them too, by `/health` and by the log. */
async function report(
  { store, log }: Services,
  { projectId, runId }: ClaimedJob,
  altered: readonly number[],
): Promise<void> {
  for (const index of altered) {
    await store.leaf(projectId, index).catch((error: unknown) => {
      log.error({ err: error, runId, index }, 'a leaf is not the one that was logged; run fsck');
    });
  }
}

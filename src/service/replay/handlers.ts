/**
 * Handlers of replays (contract F10-F16, G10, O4): a replay is accepted as a job, and its result is served
 * when the job completes. Proven by `test/service/replay/handlers.engines.test.ts`.
 */
import { append } from '../writes/append.ts';
import { refuseSystemRun } from '../writes/system-run.ts';
import type { SnapshotInput } from '../../contract/governance.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { ReplayRequest, ReplaySummary } from '../../contract/replay.ts';
import { checking } from '../../core/graphs/declaration.ts';
import { draftSnapshot } from '../../core/decided/snapshot.ts';
import { typeId } from '../../core/id.ts';
import { canonicalText, type Json } from '../../core/json/parse.ts';
import { canonicalInSlices } from '../../core/json/sliced.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Effect, StoredJob } from '../../store/port/store.ts';
import { idempotencyWrite, type Idempotency } from '../call/idempotency.ts';
import { missingRun } from '../completeness/missing-run.ts';
import { notFound } from '../call/answer.ts';
import { fieldError } from '../call/schema.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers } from '../port/handler.ts';
import { retryAfter } from '../jobs/handlers.ts';
import { byAge, pageLimit, sizedPage } from '../call/pages.ts';
import { meterOf } from '../billing/quota.ts';
import { loggedResult } from '../jobs/result.ts';
import type { Services } from '../port/services.ts';
import { snapshotOf } from '../policies/run-snapshot.ts';

export const replays: Pick<Handlers, 'listReplays' | 'createReplay' | 'createGraphReplay' | 'getReplay'> = {
  async listReplays({ query, caller }, services) {
    const { projectId } = caller.project;
    const { runId, status, cursor } = query;
    const filter = {
      ...(runId === undefined ? {} : { runId }),
      ...(status === undefined ? {} : { status }),
    };
    const { items, nextCursor } = await sizedPage(services, {
      scope: { list: 'replays', projectId, filters: filter },
      cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: Parameters<typeof services.store.jobs>[2]) =>
        services.store.jobs(projectId, { type: 'replay', ...filter }, page),
      position: (job) => byAge(job.createdMs, job.jobId),
      // answers do not contain the request, which may be large
      item: (job) => ({ item: listed(job), bytes: 0 }),
    });
    return { status: 200, body: { data: items, nextCursor } };
  },

  async createReplay(call, services) {
    const { replaySnapshot, ...others } = call.body;
    const { runId, compareRunId = runId } = others;
    const snapshot = replaySnapshot === undefined ? null : snapshotFor([runId, compareRunId], replaySnapshot);
    if (snapshot !== null) refuseSystemRun(runId, 'body');
    await requireEvents(call, services, [runId, compareRunId]);
    const given = snapshot === null ? {} : { replaySnapshot: snapshot };
    return enqueue(call, services, { request: canonicalText({ ...others, ...given }), snapshot });
  },

  async createGraphReplay(call, services) {
    const { runId, nodes, edges } = call.body;
    refuseSystemRun(runId, 'body');
    await requireEvents(call, services, [runId]);
    const { projectId } = call.caller.project;
    const slice = services.slices.of(projectId);
    const checks = checking({ nodes, edges }, runId, () => true);
    let step = checks.next();
    for (; step.done !== true; step = checks.next()) if (slice.isOver()) await slice.next();
    // a parsed body is JSON
    const request = await canonicalInSlices(call.body as unknown as Json, slice);
    // nodes of the run are known only after its events are read
    if (step.value) {
      const events = (await services.store.run(projectId, runId))?.events ?? 0;
      await services.work.run('knownEdges', { projectId, runId, graph: request }, { events });
    }
    return enqueue(call, services, { request, snapshot: null });
  },

  async getReplay({ params, caller }, { store }) {
    const result = await loggedResult(store, caller.project.projectId, params.replayId);
    if (result === null) throw notFound('replay');
    return { status: 200, raw: Buffer.from(result) };
  },
};

/** The snapshot without the run that its GET shows. READ_ONLY_FIELD for a run that `runIds` lacks (contract A4). */
function snapshotFor(
  runIds: readonly string[],
  { runId: shown, ...snapshot }: NonNullable<ReplayRequest['replaySnapshot']>,
): SnapshotInput {
  if (shown === undefined || runIds.some((runId) => runId === shown)) return snapshot;
  throw fieldError({
    pointer: '/replaySnapshot/runId',
    in: 'body',
    code: 'READ_ONLY_FIELD',
    detail: `expected no runId, or ${[...new Set(runIds)].join(' or ')}; a snapshot of another run is given without it`,
  });
}

/** RUN_HAS_NO_EVENTS where one of the runs has none: its job could only fail (contract F10). One read a run. */
async function requireEvents(
  { caller }: AcceptInput,
  services: Services,
  runIds: readonly string[],
): Promise<void> {
  const { projectId } = caller.project;
  for (const runId of new Set(runIds)) {
    const events = (await services.store.run(projectId, runId))?.events ?? 0;
    if (events === 0) throw await missingRun(services, { projectId, runId });
  }
}

interface AcceptInput {
  readonly body: { readonly runId: string };
  readonly caller: Caller;
  readonly basePath: string;
  readonly idempotency: Idempotency | null;
}

/**
 * Accepts a replay and counts its unit, once. Where the run has no snapshot, the same append records this
 * one. A crash leaves all of it or nothing.
 */
async function enqueue(
  call: AcceptInput,
  services: Services,
  { request, snapshot }: { readonly request: string; readonly snapshot: SnapshotInput | null },
) {
  const { body, caller, basePath } = call;
  const { projectId } = caller.project;
  const createdMs = services.now();
  const jobId = typeId('job', createdMs, services.randomBytes(10));
  const job: Extract<Effect, { kind: 'enqueueJob' }> = {
    kind: 'enqueueJob',
    job: {
      jobId,
      type: 'replay',
      runId: body.runId,
      request,
      resultId: typeId('rpl', createdMs, services.randomBytes(10)),
      createdMs,
    },
  };
  const headers = { location: `${basePath}/jobs/${jobId}`, ...retryAfter };
  const answer = { status: 202, body: { jobId }, headers } as const;
  const isFirst =
    snapshot !== null && (await snapshotOf(services.store, { projectId, runId: body.runId })) === null;
  const store = (claimed: SnapshotInput | null) =>
    append(
      services,
      {
        projectId,
        leaves: claimed === null ? [] : [draftSnapshot(body.runId, claimed, services.salt)],
        effects: claimed === null ? [job] : [{ kind: 'claimSnapshot', runId: body.runId }, job],
        ...idempotencyWrite(call.idempotency, answer),
      },
      { meter: meterOf(services, { caller, op: 'replay_verification', units: 1 }) },
    );
  const stored = await store(isFirst ? snapshot : null).catch((error: unknown) => {
    const claimedMeanwhile = isFirst && error instanceof GovError && error.code === 'CONFLICT';
    if (!claimedMeanwhile) throw error;
    return store(null);
  });
  if ('replayed' in stored) return stored;
  services.wakeJobs();
  return answer;
}

const time = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));

interface Counts {
  readonly steps: number;
  readonly warnings: number;
  readonly drift: number;
}

function listed(job: StoredJob): ReplaySummary {
  const { jobId, runId, status, resultId, summary, createdMs, completedMs } = job;
  // the task that completed the job wrote it
  const counts: Counts =
    summary === null ? { steps: 0, warnings: 0, drift: 0 } : (JSON.parse(summary) as Counts);
  return {
    jobId,
    replayId: resultId ?? '',
    runId,
    status,
    stepsCount: counts.steps,
    warningsCount: counts.warnings,
    driftCount: counts.drift,
    createdAt: formatTimestamp(createdMs),
    completedAt: time(completedMs),
    error: status === 'failed' ? errorOf(job.errorSummary ?? '') : null,
  };
}

/** Reads `CODE: message` as the worker wrote it. A job whose worker died has no code. */
function errorOf(summary: string): NonNullable<ReplaySummary['error']> {
  const [, code = 'INTERNAL', message = summary] = /^([A-Z_]+): ([^]*)$/.exec(summary) ?? [];
  return { code, message };
}

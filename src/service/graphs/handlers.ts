/**
 * Handlers of causal graphs (contract F13-F16). The worker thread derives graphs and writes answers. Proven
 * by `test/service/graphs/handlers.engines.test.ts`.
 */
import { append } from '../writes/append.ts';
import { refuseSystemRun } from '../writes/system-run.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Json } from '../../core/json/parse.ts';
import { canonicalInSlices } from '../../core/json/sliced.ts';
import { keepAnswer } from '../writes/keep-answer.ts';
import { notFound } from '../call/answer.ts';
import type { Handlers } from '../port/handler.ts';
import { sealedGraph } from './log.ts';
import type { Services } from '../port/services.ts';
import type { RunOf } from '../call/work.ts';

export const graphs: Pick<Handlers, 'getGraph' | 'declareGraph' | 'commitGraph' | 'getLineage'> = {
  async getGraph({ params, caller }, services) {
    const body = await graphBody(services, { projectId: caller.project.projectId, runId: params.runId });
    if (body === null) throw notFound('graph');
    return { status: 200, raw: body };
  },

  async declareGraph({ params, body, caller }, services) {
    refuseSystemRun(params.runId, 'path');
    const { store, now, salt, work } = services;
    const of = { projectId: caller.project.projectId, runId: params.runId };
    // a parsed body is JSON
    const graph = await canonicalInSlices(body as unknown as Json, services.slices.of(of.projectId));
    const input = { ...of, graph, salt: salt() };
    const declaration = await work.run('declaration', input, { events: await eventsOf(services, of) });
    const { declaredMs } = await store.graphState(of.projectId, of.runId);
    await append(services, {
      projectId: of.projectId,
      leaves: [],
      effects: [{ kind: 'declareGraph', runId: of.runId, declaration, atMs: declaredMs ?? now() }],
    });
    const answer = await graphBody(services, of);
    if (answer === null) throw notFound('graph');
    return { status: 200, raw: answer };
  },

  async commitGraph(call, services) {
    const { params, caller } = call;
    const { runId } = params;
    refuseSystemRun(runId, 'path');
    const of = { projectId: caller.project.projectId, runId };
    const { rootHash, atMs } = await sealedGraph(services, of, caller);
    return keepAnswer(call, services, {
      status: 200,
      body: { runId, rootHash, committedAt: formatTimestamp(atMs) },
    });
  },

  async getLineage({ params, query, caller }, services) {
    const of = { projectId: caller.project.projectId, runId: params.runId };
    const input = { ...of, nodeId: query.nodeId ?? null };
    const body = await services.work.run('lineageBody', input, { events: await eventsOf(services, of) });
    if (body === null) throw notFound('graph');
    if (body === 'unknown_node') throw notFound('node');
    return { status: 200, raw: body };
  },
};

const eventsOf = async ({ store }: Services, { projectId, runId }: RunOf): Promise<number> =>
  (await store.run(projectId, runId))?.events ?? 0;

const graphBody = async (services: Services, of: RunOf): Promise<Uint8Array | null> =>
  services.work.run('graphBody', of, { events: await eventsOf(services, of) });

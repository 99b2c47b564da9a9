/**
 * Logs the graph of a run: derives it in a worker thread, stages its rows, and appends the `gov.graph/1` leaf
 * on condition that the run did not grow in the meantime (docs/explanation/what-a-proof-says.md). A second attempt holds back the
 * run's events during the last step. A crash leaves only staged rows that no leaf names. Proven by
 * `test/service/graphs/handlers.engines.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { declarationHash } from '../../core/graph/declaration.ts';
import { graphLeafFields } from '../../core/graph/rows.ts';
import { typeId } from '../../core/id.ts';
import { draftLeaf, type LeafDraft } from '../../core/event/record.ts';
import type { Assigned, RunGraphState, StoredGraph } from '../../store/port/store.ts';
import { appendOrStale, type PlainEffect } from '../events/append.ts';
import type { Caller } from '../call/caller.ts';
import type { Services } from '../dependencies.ts';
import { graphCommitted } from '../system.ts';
import type { DerivedGraph, LoggedGraph, RunOf } from '../call/work.ts';

const attempts = 3;

interface GraphCommit {
  readonly graph: LoggedGraph;
  readonly rootHash: string;
  readonly atMs: number;
}

/** The graph for a proof of the run: the newest logged one where it covers every event, else a new one. */
export function currentGraph(services: Services, of: RunOf): Promise<LoggedGraph> {
  return services.runs.inTurn(of, async () => {
    const [state, run] = await Promise.all([
      services.store.graphState(of.projectId, of.runId),
      services.store.run(of.projectId, of.runId),
    ]);
    if (state.newest !== null && covers(state, state.newest, run?.events ?? 0)) return logged(state.newest);
    return (await logGraph(services, of, null)).graph;
  });
}

const covers = ({ sealed, declaration }: RunGraphState, newest: StoredGraph, events: number): boolean =>
  sealed !== null ||
  (newest.events === events &&
    newest.declarationHash === (declaration === null ? null : declarationHash(declaration)));

/** A graph from its row. Its facts are checked against its stored rows later. */
export const logged = ({ graphId, leafIndex, summary }: StoredGraph): LoggedGraph => ({
  graphId,
  leafIndex,
  unresolved: (JSON.parse(summary) as { unresolved: number }).unresolved,
  facts: null,
});

/**
 * Appends a leaf for the current graph. With `sealedBy`, the same append seals the graph. Call it inside
 * `inTurn`.
 */
export async function logGraph(services: Services, of: RunOf, sealedBy: Caller | null): Promise<GraphCommit> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const commit = await tryLogGraph(services, of, { sealedBy, hold: attempt > 1 });
    if (commit !== null) return commit;
  }
  throw new GovError('CONFLICT', `run ${of.runId} kept growing while its graph was logged; repeat later`);
}

async function tryLogGraph(
  services: Services,
  of: RunOf,
  { sealedBy, hold }: { sealedBy: Caller | null; hold: boolean },
): Promise<GraphCommit | null> {
  const { store, work, runs, now, randomBytes } = services;
  const { projectId, runId } = of;
  const graphId = typeId('grp', now(), randomBytes(10));
  const events = (await store.run(projectId, runId))?.events ?? 0;
  let release = (): void => {};
  const host = {
    stage: (part: Parameters<typeof store.stageGraphPart>[2]) =>
      store.stageGraphPart(projectId, graphId, part),
    hold: async () => {
      release = runs.hold(of);
      // after this append, everything queued before the hold is durable and visible to the task
      await store.append({ projectId, leaves: [], meter: { op: 'none', units: 0 } });
    },
  };
  try {
    const derived = await work.run(
      'deriveGraph',
      { ...of, graphId, hold, judge: sealedBy === null },
      { events, host },
    );
    return await appendGraph(services, of, { derived, graphId, sealedBy });
  } finally {
    release();
  }
}

async function appendGraph(
  services: Services,
  of: RunOf,
  { derived, graphId, sealedBy }: { derived: DerivedGraph; graphId: string; sealedBy: Caller | null },
): Promise<GraphCommit | null> {
  const { projectId, runId } = of;
  const { facts } = derived;
  const { rootHash, nodes, edges, unresolved } = facts;
  const leaf = draftLeaf('gov.graph/1', graphLeafFields(runId, facts, sealedBy !== null), { runId });
  const context = { nowMs: services.now(), salt: services.salt };
  const leaves: LeafDraft[] =
    sealedBy === null ? [leaf] : [leaf, graphCommitted({ runId, rootHash }, { ...context, by: sealedBy })];
  const graph: Omit<StoredGraph, 'leafIndex'> = {
    graphId,
    runId,
    events: facts.events,
    declarationHash: derived.declarationHash,
    rootHash,
    summary: JSON.stringify({ nodes, edges, unresolved }),
  };
  const effects: PlainEffect[] = [{ kind: 'saveGraph', graph, leaf: 0 }];
  if (sealedBy !== null) effects.push({ kind: 'sealGraph', runId, rootHash, leaf: 0 });
  const stored = await appendOrStale(services, {
    projectId,
    leaves,
    meter: { op: 'none', units: 0 },
    expect: { runId, events: facts.events },
    effects,
  });
  if ('replayed' in stored)
    throw new Error('expected an append without an idempotency key to be stored, got a replay');
  if (stored.outcome !== 'stored') return null;
  const { index, serverMs } = place(stored.assigned);
  return { graph: { graphId, leafIndex: index, unresolved, facts }, rootHash, atMs: serverMs };
}

/** The index and time of the first leaf of a request. */
function place(assigned: readonly Assigned[]): { index: number; serverMs: number } {
  const [first] = assigned;
  if (first?.outcome !== 'appended') throw new Error('expected an index for each accepted leaf, got none');
  return first;
}

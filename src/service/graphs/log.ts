/**
 * Logs the graph of a run: derives it in a worker thread, stages its rows, and appends a `gov.graph/1` leaf
 * (docs/explanation/what-a-proof-says.md). Nothing waits for it: the graph covers the events below a tree size, whatever
 * is written meanwhile. A crash leaves only staged rows that no leaf names. Proven by `test/service/graphs/handlers.engines.test.ts` and `test/service/proofs/live.engines.test.ts`.
 */
import { declarationHash } from '../../core/graphs/declaration.ts';
import { graphLeafFields } from '../../core/graphs/rows.ts';
import { typeId } from '../../core/id.ts';
import { draftLeaf, type LeafDraft } from '../../core/events/record.ts';
import type { LeafOutcome, RunGraphState, StoredGraph } from '../../store/port/store.ts';
import { append, type PlainEffect } from '../writes/append.ts';
import { notFound } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import { unlessOvertaken, untilStored } from '../call/overtaken.ts';
import type { Services } from '../port/services.ts';
import type { SignedCheckpoint } from '../log/checkpoints.ts';
import { graphCommitted } from '../writes/system.ts';
import type { DerivedGraph, LoggedGraph, RunOf } from '../call/work.ts';

/** The graph for a proof. */
export interface ProvedGraph {
  readonly graph: LoggedGraph;
  /** Of a run that is written to: checkpoint S, and what the append of the proof logs with it. */
  readonly atSize: {
    readonly signed: SignedCheckpoint;
    readonly leaf: LeafDraft;
    readonly saved: Omit<StoredGraph, 'leafIndex'>;
  } | null;
}

/**
 * The newest logged graph where it covers every event; else a new one of the events below a checkpoint, which is logged now
 * if no event arrives meanwhile, or with the proof. GRAPH_SEALED where the run was sealed meanwhile.
 */
export function provedGraph(services: Services, of: RunOf): Promise<ProvedGraph> {
  return services.runs.inTurn(of, async () => {
    const [state, run] = await Promise.all([
      services.store.graphState(of.projectId, of.runId),
      services.store.run(of.projectId, of.runId),
    ]);
    if (state.newest !== null && covers(state, state.newest, run?.events ?? 0)) {
      return { graph: logged(state.newest), atSize: null };
    }
    return derivedGraph(services, of);
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
  integrity: null,
});

/** A graph of the events below checkpoint S, which is logged now if the run has no others by then. */
async function derivedGraph(services: Services, of: RunOf): Promise<ProvedGraph> {
  const signed = await services.checkpoints.sign(of.projectId);
  const { graphId, derived } = await derive(services, of, { treeSize: signed.checkpoint.size, proves: true });
  const { leaf, saved } = graphToLog(of.runId, { graphId, derived, isSealed: false });
  const { facts, integrity } = derived;
  const graph = { graphId, unresolved: facts.unresolved, facts, integrity };
  const stored = await append(
    services,
    {
      projectId: of.projectId,
      leaves: [leaf],
      effects: [{ kind: 'saveGraph', graph: saved, leaf: 0 }],
    },
    { expect: { run: { runId: of.runId, events: facts.events } } },
  );
  if ('replayed' in stored || stored.outcome !== 'stored')
    return { graph: { ...graph, leafIndex: null }, atSize: { signed, leaf, saved } };
  return { graph: { ...graph, leafIndex: place(stored.assigned).index }, atSize: null };
}

/** The seal of a run's graph. */
export interface GraphSeal {
  readonly rootHash: string;
  readonly atMs: number;
}

/**
 * Seals the graph of a run, or returns its earlier seal, whichever process made it. The graph covers every event that
 * the run had at the request. NOT_FOUND for a run without events and declaration.
 */
export function sealedGraph(services: Services, of: RunOf, by: Caller): Promise<GraphSeal> {
  const { runs, store } = services;
  const { projectId, runId } = of;
  let mayGrow = false;
  return runs.inTurn(of, () =>
    untilStored(`the graph of run ${runId}`, async () => {
      const { sealed, declaration } = await store.graphState(projectId, runId);
      if (sealed !== null) return sealed;
      if (declaration === null && (await store.run(projectId, runId)) === null) throw notFound('graph');
      const { size: treeSize } = await store.head(projectId, 'audit');
      const { graphId, derived } = await derive(services, of, { treeSize, proves: false });
      const seal = { graphId, derived, by, mayGrow };
      mayGrow = true;
      return unlessOvertaken(appendSeal(services, of, seal), 'GRAPH_SEALED');
    }),
  );
}

/** Null where the graph must cover the whole run, and an event arrived meanwhile. */
async function appendSeal(
  services: Services,
  { projectId, runId }: RunOf,
  seal: {
    readonly graphId: string;
    readonly derived: DerivedGraph;
    readonly by: Caller;
    /** Whether the run may have more events than the graph. */
    readonly mayGrow: boolean;
  },
): Promise<GraphSeal | null> {
  const { graphId, derived, by, mayGrow } = seal;
  const { facts, declarationHash: declared } = derived;
  const { rootHash, events } = facts;
  const { leaf, saved } = graphToLog(runId, { graphId, derived, isSealed: true });
  const effects: PlainEffect[] = [
    { kind: 'saveGraph', graph: saved, leaf: 0 },
    { kind: 'sealGraph', runId, rootHash, declarationHash: declared, leaf: 0 },
  ];
  const told = graphCommitted({ runId, rootHash }, { nowMs: services.now(), salt: services.salt, by });
  const stored = await append(
    services,
    { projectId, leaves: [leaf, told], effects },
    { expect: mayGrow ? {} : { run: { runId, events } } },
  );
  if ('replayed' in stored || stored.outcome !== 'stored') return null;
  return { rootHash, atMs: place(stored.assigned).serverMs };
}

async function derive(
  { store, work, now, randomBytes }: Services,
  of: RunOf,
  extent: { readonly treeSize: number; readonly proves: boolean },
): Promise<{ readonly graphId: string; readonly derived: DerivedGraph }> {
  const { projectId, runId } = of;
  const graphId = typeId('grp', now(), randomBytes(10));
  const events = (await store.run(projectId, runId))?.events ?? 0;
  const host = {
    stage: (part: Parameters<typeof store.stageGraphPart>[2]) =>
      store.stageGraphPart(projectId, graphId, part),
  };
  const derived = await work.run('deriveGraph', { ...of, graphId, ...extent }, { events, host });
  return { graphId, derived };
}

/** The leaf of a graph, and its row. */
function graphToLog(
  runId: string,
  made: { readonly graphId: string; readonly derived: DerivedGraph; readonly isSealed: boolean },
): { readonly leaf: LeafDraft; readonly saved: Omit<StoredGraph, 'leafIndex'> } {
  const { graphId, derived, isSealed } = made;
  const { facts, declarationHash: declared } = derived;
  const { events, rootHash, nodes, edges, unresolved } = facts;
  const summary = JSON.stringify({ nodes, edges, unresolved });
  return {
    leaf: draftLeaf('gov.graph/1', graphLeafFields(runId, facts, isSealed), { runId }),
    saved: { graphId, runId, events, declarationHash: declared, rootHash, summary },
  };
}

/** The index and time of the first leaf of a request. */
function place(assigned: readonly LeafOutcome[]): { index: number; serverMs: number } {
  const [first] = assigned;
  if (first?.outcome !== 'appended') throw new Error('expected an index for each accepted leaf, got none');
  return first;
}

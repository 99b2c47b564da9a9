/**
 * Tasks that answer with graphs: whole, as a lineage, and the check of a declaration against one. Recently
 * read graphs stay in memory in compact form, up to a number of bytes; the least recently used is dropped
 * first. Proven by `test/service/graphs/handlers.engines.test.ts`.
 */
import {
  graphReadOnly,
  type GraphDeclaration,
  type GraphEdge,
  type GraphNode,
} from '../../contract/graphs.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import {
  checkDeclaration,
  declarationHash,
  declarationText,
  declare,
  readDeclaration,
} from '../../core/graphs/declaration.ts';
import { GraphUnion } from '../../core/graphs/union.ts';
import { sha256 } from '../../core/hash.ts';
import { canonicalize, readJson, type Json } from '../../core/json/parse.ts';
import { typeId } from '../../core/id.ts';
import { RunGraph } from '../../core/graphs/lineage.ts';
import { readRecord } from '../../core/events/run-entry.ts';
import { formatTimestamp, parseTimestamp } from '../../core/time.ts';
import type { RunGraphState, RunSummary } from '../../store/port/store.ts';
import { runEvents } from '../events/run-stream.ts';
import { Kept } from '../call/kept.ts';
import { refusal } from '../call/schema.ts';
import { snapshotOf } from '../policies/run-snapshot.ts';
import type { RunOf, Task, TaskContext } from '../call/work.ts';

interface View {
  readonly graph: RunGraph;
  readonly state: RunGraphState;
  readonly run: RunSummary | null;
}

/** Graphs by run, with the number of events that each covers. */
const cache = new Kept<RunGraph>(limits.graphCacheBytes);

export const graphBody: Task<'graphBody'> = async (context, of) => {
  const view = await viewOf(context, of, { whole: false });
  if (view === null) return null;
  const { nodes, edges, truncated } = view.graph.answer();
  const { id, runId, digestMetadata, rootHash, createdAt } = await ownMembers(context, of, view);
  const cut = truncated ? { truncated } : {};
  return encode({ id, runId, nodes, edges, digestMetadata, rootHash, createdAt, ...cut });
};

/** The members of a graph that only the service sets. */
async function ownMembers(context: TaskContext, of: RunOf, view: View) {
  const createdMs = await createdAtMs(context, of, view);
  return {
    id: typeId('grp', createdMs, sha256(`gov.graphid/1\n${of.projectId}\n${of.runId}`)),
    runId: of.runId,
    digestMetadata: await digestsOf(context, of),
    rootHash: view.state.sealed?.rootHash ?? null,
    createdAt: formatTimestamp(createdMs),
  };
}

/** The hashes of the run's snapshot, once it has one. */
async function digestsOf({ reader }: TaskContext, of: RunOf): Promise<Record<string, string>> {
  const snapshot = await snapshotOf(reader, of);
  if (snapshot === null) return {};
  const { policyHash, toolRegistryHash, configStateHash } = snapshot;
  return { policyHash, toolRegistryHash, configStateHash };
}

/** READ_ONLY_FIELD where the client sent a member of the service with another value than the stored one. */
async function refuseOthers(context: TaskContext, of: RunOf, graph: GraphDeclaration): Promise<void> {
  const sent = graphReadOnly.filter((name) => graph[name] !== undefined);
  if (sent.length === 0) return;
  const view = await viewOf(context, of, { whole: false });
  const stored: Partial<Record<string, unknown>> =
    view === null
      ? { runId: of.runId }
      : { ...(await ownMembers(context, of, view)), truncated: view.graph.answer().truncated };
  const text = (value: unknown): string => (value === undefined ? '' : canonicalize(value as Json)); // both are JSON
  const errors = sent
    .filter((name) => text(graph[name]) !== text(stored[name]))
    .map((name) => ({
      pointer: `/${name}`,
      in: 'body' as const,
      code: 'READ_ONLY_FIELD' as const,
      detail: `${name} is set by the service: expected what it answered, or nothing`,
    }));
  if (errors.length > 0) throw refusal({ errors, truncated: false });
}

export const lineageBody: Task<'lineageBody'> = async (context, { projectId, runId, nodeId }) => {
  const view = await viewOf(context, { projectId, runId }, { whole: nodeId !== null });
  if (view === null) return null;
  const answer = nodeId === null ? view.graph.answer() : view.graph.lineage(nodeId);
  if (answer === null) return 'unknown_node';
  const { nodes, edges, truncated } = answer;
  return encode({ runId, nodeId, nodes, edges, ...(truncated ? { truncated } : {}) });
};

/** Reads the canonical text of a graph that the contract's schema accepted. */
const readGraph = (text: string): GraphDeclaration => readJson(text) as unknown as GraphDeclaration;

export const declaration: Task<'declaration'> = async (context, { projectId, runId, graph: text, salt }) => {
  const graph = readGraph(text);
  const state = await context.reader.graphState(projectId, runId);
  if (state.sealed !== null) {
    throw new GovError(
      'GRAPH_SEALED',
      `expected a graph that is not sealed, got the sealed graph of run ${runId}`,
    );
  }
  await refuseOthers(context, { projectId, runId }, graph);
  const derived = await derivedOf(
    context,
    { projectId, runId },
    { state: { ...state, declaration: null }, whole: true },
  );
  checkDeclaration(graph, runId, (nodeId) => derived.graph.has(nodeId));
  return declarationText(declare(graph, salt));
};

/** VALIDATION_ERROR for an edge to a node that neither the request nor the graph of the run has (contract F14). */
export const knownEdges: Task<'knownEdges'> = async (context, { graph: text, ...of }) => {
  const graph = readGraph(text);
  const view = await viewOf(context, of, { whole: true });
  checkDeclaration(graph, of.runId, (nodeId) => view?.graph.has(nodeId) === true);
  return null;
};

/** The current graph, or the sealed one. Null for a run without events and declaration. */
async function viewOf(context: TaskContext, of: RunOf, extent: { whole: boolean }): Promise<View | null> {
  const state = await context.reader.graphState(of.projectId, of.runId);
  const view = await derivedOf(context, of, { state, ...extent });
  return view.run === null && state.declaration === null ? null : view;
}

/**
 * With `whole: false` it stops after as many nodes as an answer may contain, so that a huge run costs no
 * more.
 */
async function derivedOf(
  context: TaskContext,
  of: RunOf,
  { state, whole }: { state: RunGraphState; whole: boolean },
): Promise<View> {
  const { projectId, runId } = of;
  const run = await context.reader.run(projectId, runId);
  const sealedEvents = state.sealed === null ? undefined : state.newest?.events;
  const events = sealedEvents ?? run?.events ?? 0;
  const declared = state.declaration;
  const key = [projectId, runId, events, declared === null ? '' : declarationHash(declared)].join(' ');
  const held = cache.get(key);
  if (held !== undefined) return { graph: held, state, run };
  const graph = new RunGraph();
  const union = new GraphUnion(runId, graph, declared === null ? null : readDeclaration(declared));
  const range = { fromSeq: 0, beforeIndex: Number.MAX_SAFE_INTEGER };
  for await (const chunk of runEvents(context, of, range)) {
    for (const event of chunk) if (union.events < events) union.add(event);
    if (union.events >= events || graph.full) break;
    if (!whole && graph.size > limits.graphNodesAnswered) break;
  }
  union.end();
  if (union.events >= events) cache.keep(key, graph);
  return { graph, state, run };
}

/** The time of the first event or of the first declaration, whichever is earlier. */
async function createdAtMs({ reader }: TaskContext, of: RunOf, { run, state }: View): Promise<number> {
  const first = run === null ? null : await reader.leaf(of.projectId, run.firstIndex);
  const record = first === null ? null : readRecord(first.record);
  const eventMs = record === null ? null : parseTimestamp(record.serverTimestamp);
  return Math.min(eventMs ?? Infinity, state.declaredMs ?? Infinity);
}

const encode = (body: {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly [member: string]: unknown;
}): Uint8Array => Buffer.from(JSON.stringify(body));

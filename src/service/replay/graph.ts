/**
 * Replays a causal graph: compares a client's declaration with the events of the run (contract F14). The
 * declaration becomes part of the run's graph, unless that is sealed or cannot take it. Proven by
 * `test/service/replay/handlers.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { GraphReplayRequest } from '../../contract/replay.ts';
import {
  checkDeclaration,
  declarationHash,
  declarationText,
  declare,
  readDeclaration,
  type Declaration,
} from '../../core/graphs/declaration.ts';
import { GraphDerivation } from '../../core/graphs/derivation.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import type { ReplayCollector } from '../../core/replay/collector.ts';
import { GraphComparison } from '../../core/replay/graph.ts';
import type { RunAt } from '../proofs/decided-leaves.ts';
import { noEvents, runEvents } from '../events/run-stream.ts';
import type { ReplayedRun, TaskContext } from '../call/work.ts';

interface GraphReplay {
  readonly request: GraphReplayRequest;
  readonly collector: ReplayCollector;
  /** The salt of the run's first declaration. */
  readonly salt: string;
}

/**
 * Adds a step for each node and edge. Returns the new declaration, or null where it does not change.
 * RUN_HAS_NO_EVENTS. Memory: derivation and declaration.
 */
export async function replayGraph(
  context: TaskContext,
  run: RunAt & { readonly at: string },
  replay: GraphReplay,
): Promise<ReplayedRun['declaration']> {
  const { collector, request } = replay;
  const nodes = request.nodes.map(({ id, type, data }) =>
    // a parsed body is JSON
    data === undefined ? { id, type } : { id, type, data: data as JsonObject },
  );
  const comparison = new GraphComparison({ nodes, edges: request.edges }, collector, run.at);
  const derivation = new GraphDerivation(run.runId, comparison);
  for await (const chunk of runEvents(context, run, { fromSeq: 0, beforeIndex: run.treeSize })) {
    for (const event of chunk) derivation.add(event);
  }
  if (derivation.events.length === 0) throw noEvents(run.runId);
  const { unresolved } = derivation.end();
  comparison.finish();
  if (unresolved > 0) collector.warn(`${unresolved} references of the events name nothing in the run`);
  const { sealed, declaration } = await context.reader.graphState(run.projectId, run.runId);
  if (sealed !== null) return null;
  const previous = declaration === null ? null : readDeclaration(declaration);
  const text = declared(run.runId, replay, { derivation, previous });
  return text === null
    ? null
    : { text, fromHash: declaration === null ? null : declarationHash(declaration) };
}

/**
 * The union with the earlier declaration. Null where that is the same, or with a warning where it cannot be
 * declared.
 */
function declared(
  runId: string,
  { request, collector, salt }: GraphReplay,
  { derivation, previous }: { derivation: GraphDerivation; previous: Declaration | null },
): string | null {
  const before = new Set(previous?.nodes.map(({ id }) => id));
  try {
    checkDeclaration(request, runId, (id) => derivation.reference(id) !== null || before.has(id));
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    collector.warn(`not declared as the graph of the run: ${error.message}`);
    return null;
  }
  const union = declare(request, previous?.salt ?? salt, previous);
  if (union.nodes.length > limits.graphNodesDeclared || union.edges.length > limits.graphEdgesAnswered) {
    collector.warn(
      'not declared as the graph of the run: together with the earlier declaration it is too large',
    );
    return null;
  }
  const isSame = previous !== null && declarationText(union) === declarationText(previous);
  return isSame || union.nodes.length + union.edges.length === 0 ? null : declarationText(union);
}

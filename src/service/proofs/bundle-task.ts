/**
 * Tasks: plan the bundle of a stored proof, which contains everything to check the proof offline
 * (`src/core/proofs/bundle.ts`), and write its parts. A small bundle comes back whole. Of a larger one the plan returns its
 * exact size and all but its long lists: events, and edges and nodes of the graph. `bundle-stream.ts` sends those in parts, each
 * read when the client wants it, so that memory holds one part, and no slow client holds a thread.
 * Proven by `test/service/proofs/handlers.engines.test.ts`, with the public verifier.
 */
import { missingLeaf } from '../log/contradiction.ts';
import type { ComplianceProof } from '../../contract/proofs.ts';
import { GovError } from '../../contract/problems.ts';
import {
  bundleText,
  composeBundle,
  pathText,
  type BundleCompleteness,
  type BundleErasures,
  type BundleGraph,
  type IncludedRecord,
} from '../../core/proofs/bundle.ts';
import type { MapEntry } from '../../core/completeness/entry.ts';
import { erasuresOf } from '../../core/events/erased.ts';
import { countValues, type Json } from '../../core/json/parse.ts';
import { limits } from '../../contract/limits.ts';
import type { StoredProof } from '../../store/port/store.ts';
import { openOwn } from '../log/checkpoints.ts';
import { eventPieces, listPieces } from './bundle-lists.ts';
import { BundlePlanner, tooLarge } from './bundle-plan.ts';
import { encloseApprovals } from './bundle-approvals.ts';
import { consistencyAt, inclusionAt, sharedInclusionAt } from '../log/tree-proofs.ts';
import type { BundleLists, Task, TaskContext } from '../call/work.ts';

export const bundle: Task<'bundle'> = async (context, input) => {
  const { projectId, proofId, events, completeness, dsse } = input;
  const { reader } = context;
  const stored = await reader.proof(projectId, proofId);
  if (stored === null) throw new Error(`expected a stored proof ${proofId}, got none`);
  const { treeSize, leafIndex } = stored;
  const checkpoint = await noteOf(context, projectId, treeSize);
  const covered = Math.max(leafIndex, completeness?.leafIndex ?? 0) + 1;
  const proofCheckpoint =
    (await reader.witnessedCheckpoint(projectId, 'audit', covered)) ??
    (await noteOf(context, projectId, covered));
  const second = openOwn(proofCheckpoint).size;
  const plan = new BundlePlanner(events);
  const enclosed =
    events === 'none' ? {} : await encloseRun(context, plan, { projectId, stored, events, second });
  const approvals =
    events === 'none' ? [] : await encloseApprovals(context, { projectId, runId: stored.runId, treeSize });
  const frame = composeBundle({
    // the store keeps the canonical text of a proof
    proof: JSON.parse(stored.proof) as ComplianceProof,
    proofPreimage: stored.preimage,
    layerStatements: stored.statements,
    proofLeaf: await included(context, projectId, { index: leafIndex, size: second }),
    checkpoint,
    proofCheckpoint,
    consistency: pathText(await consistencyAt(reader, projectId, { first: treeSize, second })),
    ...enclosed,
    ...(completeness === null
      ? {}
      : { completeness: await encloseIndex(context, projectId, { ...completeness, second }) }),
    ...(approvals.length === 0 ? {} : { approvals }),
    ...(dsse === null ? {} : { dsse }),
  });
  // a bundle is JSON by its type
  return plan.around(bundleText(frame), countValues(frame as unknown as Json));
};

export const bundlePart: Task<'bundlePart'> = async (context, { lists, list, from }) => {
  let text = '';
  for await (const piece of listPieces(context, lists, { list, from })) {
    text += from === 0 && text === '' ? piece.text : `,${piece.text}`;
    if (text.length < limits.bundlePartBytes) continue;
    await context.host.write(ownBytes(text));
    return { next: piece.next };
  }
  if (text !== '') await context.host.write(ownBytes(text));
  return { next: null };
};

/** UTF-8 in memory of its own, which can be given to another thread. */
function ownBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** Adds the inclusion of each item that stands in the log after the list of the proof. */
async function encloseIndex(
  context: TaskContext,
  projectId: string,
  { leafIndex, entries, second }: { leafIndex: number; entries: readonly MapEntry[]; second: number },
): Promise<BundleCompleteness> {
  const shown: MapEntry[] = [];
  for (const { growth, ...entry } of entries) {
    if (growth === undefined) {
      shown.push(entry);
      continue;
    }
    const at = { index: growth.next.index, size: second };
    const inclusion = pathText(await inclusionAt(context.reader, projectId, at));
    shown.push({ ...entry, growth: { ...growth, next: { ...growth.next, inclusion } } });
  }
  return { index: await included(context, projectId, { index: leafIndex, size: second }), entries: shown };
}

async function noteOf({ reader }: TaskContext, projectId: string, size: number): Promise<string> {
  const note = await reader.checkpointFrom(projectId, 'audit', size);
  if (note === null) throw new Error(`expected a signed checkpoint over ${size} leaves, got none`);
  return note;
}

async function included(
  { reader }: TaskContext,
  projectId: string,
  at: { index: number; size: number },
): Promise<IncludedRecord> {
  const leaf = await reader.leaf(projectId, at.index);
  if (leaf === null) throw missingLeaf(at.index);
  const inclusion = pathText(await inclusionAt(reader, projectId, at));
  return { index: at.index, record: leaf.record, inclusion };
}

type EnclosedParts = Partial<Pick<BundleParts, 'events' | 'eventsInclusion' | 'erasures' | 'graph'>>;
type BundleParts = Parameters<typeof composeBundle>[0];

/** Plans the events of the run and their graph. Returns them with empty lists. VALIDATION_ERROR for too many bytes. */
async function encloseRun(
  context: TaskContext,
  plan: BundlePlanner,
  of: { projectId: string; stored: StoredProof; events: BundleLists['events']; second: number },
): Promise<EnclosedParts> {
  const { projectId, stored, events, second } = of;
  const { runId, treeSize, graphIndex } = stored;
  const graph = graphIndex === null ? null : await graphOf(context, projectId, { graphIndex, treeSize });
  const lists = { projectId, runId, events, treeSize, graphId: graph?.graphId ?? null };
  plan.lists = lists;
  const indexes: number[] = [];
  const erasures = new Set<number>();
  for await (const piece of eventPieces(context, lists, 0)) {
    for (const { index, erased } of piece.leaves) {
      indexes.push(index);
      for (const leaf of erasuresOf(erased ?? null)) erasures.add(leaf);
    }
    if (piece.largest > limits.bundleEventBytes) throw tooLarge(events);
    plan.add(piece);
  }
  const path = await sharedInclusionAt(context.reader, projectId, { indexes, size: treeSize });
  if (graph !== null) {
    for (const list of ['edges', 'nodes'] as const) {
      for await (const piece of listPieces(context, lists, { list, from: 0 })) plan.add(piece);
    }
  }
  const gone = erasures.size === 0 ? null : await encloseErasures(context, projectId, { erasures, second });
  return {
    events: [],
    eventsInclusion: pathText(path),
    ...(gone === null ? {} : { erasures: gone }),
    ...(graph === null ? {} : { graph: graph.graph }),
  };
}

/** Adds the erasures that explain missing values. VALIDATION_ERROR for more than a bundle may contain. */
async function encloseErasures(
  context: TaskContext,
  projectId: string,
  { erasures, second }: { erasures: ReadonlySet<number>; second: number },
): Promise<BundleErasures> {
  const indexes = [...erasures].toSorted((a, b) => a - b);
  if (indexes.length > limits.bundleErasures) {
    const detail = `expected a run with at most ${limits.bundleErasures} erasures to disclose, got ${indexes.length}; ask with events=records`;
    throw new GovError('VALIDATION_ERROR', detail);
  }
  const checkpoint = await noteOf(context, projectId, Math.max(second, (indexes.at(-1) ?? 0) + 1));
  const { size } = openOwn(checkpoint);
  const leaves: IncludedRecord[] = [];
  for (const index of indexes) leaves.push(await included(context, projectId, { index, size }));
  const path =
    size === second ? [] : await consistencyAt(context.reader, projectId, { first: second, second: size });
  return { checkpoint, consistency: pathText(path), leaves };
}

/** The graph with empty lists. */
async function graphOf(
  context: TaskContext,
  projectId: string,
  { graphIndex, treeSize }: { graphIndex: number; treeSize: number },
): Promise<{ readonly graphId: string; readonly graph: BundleGraph }> {
  const graph = await context.reader.graphAt(projectId, graphIndex);
  if (graph === null)
    throw new GovError('STORAGE_FAULT', `expected the graph of leaf ${graphIndex}, got none`);
  const empty = { nodes: [], edges: [] };
  // of a run that was written to, the leaf was appended with the proof: its layer commits to the items
  if (graphIndex >= treeSize) return { graphId: graph.graphId, graph: empty };
  const leaf = await included(context, projectId, { index: graphIndex, size: treeSize });
  return { graphId: graph.graphId, graph: { leaf, ...empty } };
}

/**
 * Task: writes the bundle of a stored proof, which contains everything to check the proof offline
 * (`src/core/proof/bundle.ts`). Proven by `test/service/proofs/handlers.engines.test.ts`, with the public
 * verifier.
 */
import { missingLeaf } from './contradiction.ts';
import type { ComplianceProof } from '../../contract/proofs.ts';
import { GovError } from '../../contract/problems.ts';
import {
  bundleEvent,
  bundleText,
  composeBundle,
  edgeItems,
  nodeItems,
  pathText,
  type BundleCompleteness,
  type BundleErasures,
  type BundleEvent,
  type BundleGraph,
  type IncludedRecord,
} from '../../core/proof/bundle.ts';
import type { MapEntry } from '../../core/completeness/entry.ts';
import { erasuresOf } from '../../core/event/erased.ts';
import { canonicalText } from '../../core/json/parse.ts';
import { limits } from '../../contract/limits.ts';
import type { StoredProof } from '../../store/port/store.ts';
import { openOwn } from '../log/checkpoints.ts';
import { graphRows } from '../graphs/rows.ts';
import { runEvents } from '../events/run-stream.ts';
import { consistencyAt, inclusionAt, sharedInclusionAt } from '../log/tree-proofs.ts';
import type { Task, TaskContext } from '../call/work.ts';

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
  const { texts = [], ...enclosed } =
    events === 'none' ? {} : await encloseRun(context, projectId, { stored, events, second });
  const text = bundleText(
    composeBundle({
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
      ...(dsse === null ? {} : { dsse }),
    }),
  );
  const bytes = withEvents(Buffer.from(text), texts);
  if (bytes.length > limits.bundleBytes) throw tooLarge(events);
  return bytes;
};

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

const noEvents = Buffer.from('"events":[]');

/** Puts texts of events into the list of a bundle, which is the first empty one of its name in canonical form. */
function withEvents(bundle: Buffer, texts: readonly Buffer[]): Buffer {
  if (texts.length === 0) return bundle;
  const at = bundle.indexOf(noEvents) + noEvents.length - 1;
  const parts = texts.flatMap((text, no) => (no === 0 ? [text] : [comma, text]));
  return Buffer.concat([bundle.subarray(0, at), ...parts, bundle.subarray(at)]);
}

const comma = Buffer.from(',');

interface Enclosed {
  /** Stays empty: the events are in `texts`. */
  readonly events: readonly BundleEvent[];
  /** Canonical texts of the events, some in each, with commas in between. */
  readonly texts: readonly Buffer[];
  readonly eventsInclusion: readonly string[];
  readonly erasures?: BundleErasures;
  readonly graph?: BundleGraph;
}

/** Adds the events of the run. VALIDATION_ERROR for a run with more events than a bundle may contain. */
async function encloseRun(
  context: TaskContext,
  projectId: string,
  { stored, events, second }: { stored: StoredProof; events: 'records' | 'disclosed'; second: number },
): Promise<Enclosed> {
  const { runId, treeSize, graphIndex } = stored;
  const texts: Buffer[] = [];
  const indexes: number[] = [];
  const erasures = new Set<number>();
  const disclosed = events === 'disclosed' ? { disclose: () => true } : {};
  const range = { fromSeq: 0, beforeIndex: treeSize, bodies: events === 'disclosed' };
  const size = { bytes: 0, values: 0 };
  for await (const chunk of runEvents(context, { projectId, runId }, range)) {
    const chunkTexts: string[] = [];
    for (const event of chunk) {
      const enclosed = bundleEvent(event, disclosed);
      size.values += eventValues + (enclosed.disclosures?.length ?? 0);
      // objects and one long text would take several times the memory
      chunkTexts.push(canonicalText(enclosed));
      indexes.push(enclosed.index);
      for (const leaf of erasuresOf(event.erased ?? null)) erasures.add(leaf);
    }
    if (chunkTexts.length > 0) texts.push(Buffer.from(chunkTexts.join(',')));
    size.bytes += (texts.at(-1)?.length ?? 0) + 1;
    if (indexes.length > limits.bundleEvents) throw tooMany();
    if (size.bytes > limits.bundleBytes || size.values > limits.bundleValues) throw tooLarge(events);
  }
  const path = await sharedInclusionAt(context.reader, projectId, { indexes, size: treeSize });
  const graph = graphIndex === null ? null : await graphOf(context, projectId, { graphIndex, treeSize });
  return {
    events: [],
    texts,
    eventsInclusion: pathText(path),
    ...(erasures.size === 0
      ? {}
      : { erasures: await encloseErasures(context, projectId, { erasures, second }) }),
    ...(graph === null ? {} : { graph }),
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

/** JSON values of an event besides its disclosures: itself, index, record, and their list. */
const eventValues = 4;

/** A verifier reads no larger bundle, so none is made. */
const tooLarge = (events: 'none' | 'records' | 'disclosed'): GovError =>
  new GovError(
    'VALIDATION_ERROR',
    `expected a bundle of at most ${limits.bundleBytes} bytes and ${limits.bundleValues} values, got more; ` +
      `ask with events=${events === 'disclosed' ? 'records' : 'none'}, or export the events with proof`,
    { extensions: { limit: limits.bundleBytes } },
  );

const tooMany = (): GovError =>
  new GovError(
    'VALIDATION_ERROR',
    `expected a run of at most ${limits.bundleEvents} events to enclose; ask with events=none`,
  );

async function graphOf(
  context: TaskContext,
  projectId: string,
  { graphIndex, treeSize }: { graphIndex: number; treeSize: number },
): Promise<BundleGraph> {
  const graph = await context.reader.graphAt(projectId, graphIndex);
  if (graph === null)
    throw new GovError('STORAGE_FAULT', `expected the graph of leaf ${graphIndex}, got none`);
  const rows = async (list: 'nodes' | 'edges'): Promise<string[]> => {
    const all: string[] = [];
    const of = { projectId, graphId: graph.graphId, list };
    for await (const chunk of graphRows(context.reader, of)) all.push(...chunk);
    return all;
  };
  const nodes = nodeItems(await rows('nodes'));
  return {
    leaf: await included(context, projectId, { index: graphIndex, size: treeSize }),
    nodes,
    edges: edgeItems(await rows('edges'), nodes),
  };
}

/**
 * The long lists of a bundle as canonical texts, in pieces with commas in between. Each list can be read from any piece on.
 * Proven by `test/service/proofs/bundle-stream.engines.long.test.ts` and `test/service/proofs/bundle-graph.long.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { bundleEvent } from '../../core/proofs/bundle.ts';
import { NodePositions, readEdgeRow, readNodeRow } from '../../core/graphs/rows.ts';
import { canonicalText } from '../../core/json/parse.ts';
import type { RunLeaf } from '../../core/events/run-entry.ts';
import { graphRows } from '../graphs/rows.ts';
import { runEvents } from '../events/run-stream.ts';
import type { BundleLists, TaskContext } from '../call/work.ts';

/** The members that are long lists, in the order of canonical JSON. */
export const listNames = ['events', 'edges', 'nodes'] as const;
type ListName = (typeof listNames)[number];

/** The list that follows a text of a plan (`BundlePlan`); null after the last. */
export const listAfter = (texts: readonly unknown[], at: number): ListName | null =>
  at < texts.length - 1 ? (listNames[at] ?? null) : null;

export interface ListPiece {
  readonly list: ListName;
  readonly text: string;
  /** The number of items in the text. */
  readonly items: number;
  /** Where the next piece starts: `from` of a later call. */
  readonly next: number;
}

interface EventPiece extends ListPiece {
  readonly leaves: readonly RunLeaf[];
  /** Bytes of the largest event. */
  readonly largest: number;
}

/** `from`: 0, or `next` of an earlier piece. */
export function listPieces(
  context: TaskContext,
  lists: BundleLists,
  { list, from }: { readonly list: ListName; readonly from: number },
): AsyncIterable<ListPiece> {
  switch (list) {
    case 'events':
      return eventPieces(context, lists, from);
    case 'edges':
      return edgePieces(context, lists, from);
    case 'nodes':
      return nodePieces(context, lists, from);
  }
}

/** `from` is a runSeq. */
export async function* eventPieces(
  context: TaskContext,
  { projectId, runId, events, treeSize }: BundleLists,
  from: number,
): AsyncGenerator<EventPiece, void, undefined> {
  const disclosed = events === 'disclosed' ? ({ disclose: 'all' } as const) : {};
  const bodies = events === 'disclosed';
  const range = { fromSeq: from, beforeIndex: treeSize, bodies, chunkChars: limits.bundlePartBytes / 2 };
  let next = from;
  for await (const leaves of runEvents(context, { projectId, runId }, range)) {
    const texts = leaves.map((leaf) => canonicalText(bundleEvent(leaf, disclosed)));
    next += leaves.length;
    const largest = Math.max(...texts.map((text) => Buffer.byteLength(text)));
    yield { list: 'events', text: texts.join(','), items: texts.length, next, leaves, largest };
  }
}

/** `from` is a part of the stored graph. A row is the canonical text of its item. */
async function* nodePieces(
  context: TaskContext,
  lists: BundleLists,
  from: number,
): AsyncGenerator<ListPiece, void, undefined> {
  let next = from;
  for await (const rows of partsOf(context, lists, 'nodes', from)) {
    for (const row of rows) if (readNodeRow(row) === null) notRow(row);
    next++;
    yield { list: 'nodes', text: rows.join(','), items: rows.length, next };
    await context.breathe();
  }
}

/** `from` is a part of the stored graph. Each call reads the nodes first, about 1 µs each. */
async function* edgePieces(
  context: TaskContext,
  lists: BundleLists,
  from: number,
): AsyncGenerator<ListPiece, void, undefined> {
  const positions = new NodePositions();
  for await (const rows of partsOf(context, lists, 'nodes', 0)) {
    for (const row of rows) positions.add(readNodeRow(row) ?? notRow(row));
    await context.breathe();
  }
  let next = from;
  for await (const rows of partsOf(context, lists, 'edges', from)) {
    const texts = rows.map((row) => {
      const { source, target, type } = readEdgeRow(row) ?? notRow(row);
      return `[${positions.of(source) ?? notRow(row)},${positions.of(target) ?? notRow(row)},"${type}"]`;
    });
    next++;
    yield { list: 'edges', text: texts.join(','), items: texts.length, next };
    await context.breathe();
  }
}

async function* partsOf(
  { reader }: TaskContext,
  { projectId, graphId }: BundleLists,
  list: 'nodes' | 'edges',
  from: number,
): AsyncGenerator<string[], void, undefined> {
  if (graphId !== null) yield* graphRows(reader, { projectId, graphId, list, from });
}

/** A malformed row is an error of the store. */
function notRow(row: string): never {
  throw new Error(`expected a row of the graph, got ${row.slice(0, 64)}`);
}

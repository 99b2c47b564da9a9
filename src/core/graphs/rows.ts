/**
 * The committed rows of the causal graph of a run. A *row* is the JCS text of an item:
 *
 *   node  {"dataCommitment":"sha256:…","id":"…","index":<leaf index or null>,"type":"…"}
 *   edge  {"source":"…","target":"…","type":"…"}
 *
 * Order of nodes: the run, then each event followed by the parties that it names first, then declared nodes by id. Order
 * of edges: as derived, event by event, then declared edges by (source, target, type). Each list is committed as
 * {n, root}, the RFC 6962 root over its rows. Both are part of
 * `rootHash = SHA-256("gov.graph/v1\n" || JCS({ runId, nodes, edges }))`. The data commitment of a derived item is the
 * leaf hash of the first event that names it, which is salted because the record contains salted digests. The commitment
 * of a declared node is a salted hash of its data. Proven by `test/core/graphs/builder.test.ts`.
 */
import type { GraphEdge } from '../../contract/graphs.ts';
import { limits } from '../../contract/limits.ts';
import { partyId } from '../events/links.ts';
import { hashText, labelled } from '../hash.ts';
import { eventIndex } from '../id.ts';
import { RunIndex } from '../events/run-index.ts';
import type { JsonObject } from '../json/parse.ts';
import { ListRoot } from '../merkle/list-root.ts';

export interface NodeItem {
  readonly id: string;
  /** Leaf index of an event node; null for every other node. */
  readonly index: number | null;
  readonly type: string;
  readonly dataCommitment: string;
}

export type EdgeItem = GraphEdge;

/** A committed list: number of items, and `sha256:…` of the RFC 6962 root over them. */
export type ListCommitment = {
  readonly n: number;
  readonly root: string;
};

/**
 * Receives a graph item by item, in committed order. A *reference* names a node by number: the k-th event node is k, the
 * k-th other node (the run, parties, declared nodes) is −1 − k.
 */
export interface GraphSink {
  node(node: NodeItem, data: JsonObject): void;
  edge(edge: EdgeItem, source: number, target: number): void;
}

export const runNodeId = (runId: string): string => partyId('run', runId);

/**
 * Returns whether a node claims to be an event by type, id or leaf index without being one. An event is a node of type
 * `event` whose id contains its own leaf index. Declared nodes have no leaf, so none may claim it.
 */
export function posesAsEvent({ id, index, type }: NodeItem): boolean {
  if (index === null) return type === 'event' || isEventForm(id);
  return type !== 'event' || eventIndex(id) !== index;
}

/** Ids with this prefix are reserved for events. */
export const isEventForm = (id: string): boolean => id.startsWith('evt_');

/** Every member of an item is text without characters that JSON escapes, so the rows are JCS. */
export const nodeRow = ({ dataCommitment, id, index, type }: NodeItem): string =>
  `{"dataCommitment":"${dataCommitment}","id":"${id}","index":${index},"type":"${type}"}`;

export const edgeRow = ({ source, target, type }: EdgeItem): string =>
  `{"source":"${source}","target":"${target}","type":"${type}"}`;

const id = '([A-Za-z0-9][A-Za-z0-9._:-]{0,127})';
const type = `([a-z][a-z0-9_]{0,${limits.graphTypeChars - 1}})`;
const nodeForm = new RegExp(
  `^\\{"dataCommitment":"(sha256:[0-9a-f]{64})","id":"${id}","index":(null|0|[1-9][0-9]{0,14}),"type":"${type}"\\}$`,
);
const edgeForm = new RegExp(`^\\{"source":"${id}","target":"${id}","type":"${type}"\\}$`);

/** Node and edge types (contract F13). */
export const graphTypePattern = new RegExp(`^${type}$`);

/** Reads a node row; null for any other form. Attacker controlled. */
export function readNodeRow(row: string): NodeItem | null {
  const match = nodeForm.exec(row);
  if (match === null) return null;
  const [, dataCommitment = '', id = '', index = 'null', type = ''] = match;
  return { dataCommitment, id, index: index === 'null' ? null : Number(index), type };
}

/** Reads an edge row; null for any other form. Attacker controlled. */
export function readEdgeRow(row: string): EdgeItem | null {
  const match = edgeForm.exec(row);
  if (match === null) return null;
  const [, source = '', target = '', type = ''] = match;
  return { source, target, type };
}

/** The positions of nodes in their list, in flat memory for events: a run may have a million. */
export class NodePositions {
  readonly #events = new RunIndex();
  readonly #eventPositions: number[] = [];
  readonly #others = new Map<string, number>();
  #count = 0;

  /** Adds the next node of the list. */
  add({ id, index }: NodeItem): void {
    // a copy, because the id of a row keeps all rows in memory that were read with it
    if (index === null) this.#others.set(Buffer.from(id).toString(), this.#count);
    else this.#eventPositions[this.#events.add(index, id)] = this.#count;
    this.#count++;
  }

  /** Undefined for an unknown node. */
  of(id: string): number | undefined {
    const event = this.#events.find(id);
    return event >= 0 ? this.#eventPositions[event] : this.#others.get(id);
  }
}

/** Rows of one list that are stored together: separated by newlines, at most `limits.graphPartItems`. */
export interface GraphChunk {
  readonly list: 'nodes' | 'edges';
  /** 0, 1, 2 … in the list. */
  readonly part: number;
  /** UTF-8. */
  readonly rows: Buffer;
}

/** Commits to one list of rows in memory that grows with log n, and returns the rows in chunks. */
export class ListCommitter {
  readonly #list: 'nodes' | 'edges';
  readonly #keep: boolean;
  readonly #root: ListRoot;
  /** Rows of the open chunk as bytes, each with a line break: strings would be ten times as many objects. */
  #open = Buffer.alloc(0);
  #openBytes = 0;
  #openRows = 0;
  #parts = 0;
  #ready: GraphChunk[] = [];

  /** `keep`: whether to keep rows for `drain`. */
  constructor(list: 'nodes' | 'edges', keep: boolean, root = new ListRoot()) {
    this.#list = list;
    this.#keep = keep;
    this.#root = root;
  }

  /** A copy that grows apart from this one, and has the rows of the open chunk. */
  fork(): ListCommitter {
    const copy = new ListCommitter(this.#list, this.#keep, this.#root.fork());
    copy.#open = Buffer.from(this.#open.subarray(0, this.#openBytes));
    copy.#openBytes = this.#openBytes;
    copy.#openRows = this.#openRows;
    copy.#parts = this.#parts;
    return copy;
  }

  /** Bytes in memory of rows that are not drained. */
  get bytes(): number {
    return this.#open.length;
  }

  /** Adds a row. Cost: two hashes, about 1 µs. */
  add(row: string): void {
    this.#root.add(`\0${row}`);
    if (!this.#keep) return;
    const enough = this.#openBytes + row.length * 3 + 1;
    if (enough > this.#open.length) this.#grow(enough);
    this.#openBytes += this.#open.write(row, this.#openBytes);
    this.#open[this.#openBytes++] = NEWLINE;
    this.#openRows++;
    if (this.#openRows === limits.graphPartItems) this.#cut();
  }

  /** Returns the chunks that were completed since the last call; with `end`, also the last one. */
  drain(options: { readonly end?: boolean } = {}): GraphChunk[] {
    if (options.end === true && this.#openRows > 0) this.#cut();
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  commitment(): ListCommitment {
    return { n: this.#root.size, root: hashText(this.#root.root()) };
  }

  #cut(): void {
    const rows = Buffer.from(this.#open.subarray(0, this.#openBytes - 1));
    this.#ready.push({ list: this.#list, part: this.#parts, rows });
    this.#parts++;
    this.#openBytes = 0;
    this.#openRows = 0;
  }

  #grow(enough: number): void {
    const larger = Buffer.allocUnsafe(Math.max(enough, 2 * this.#open.length, 64 * 1024));
    this.#open.copy(larger, 0, 0, this.#openBytes);
    this.#open = larger;
  }
}

const NEWLINE = 0x0a;

/** Returns the root hash of a graph, `sha256:…`, and its preimage. */
export function graphRoot(
  runId: string,
  lists: { readonly nodes: ListCommitment; readonly edges: ListCommitment },
): { preimage: string; hash: string } {
  const { nodes, edges } = lists;
  return labelled('gov.graph/v1', { runId, nodes: { ...nodes }, edges: { ...edges } });
}

/** The commitments of a graph, and the results of its checks. */
export interface GraphFacts {
  readonly nodes: ListCommitment;
  readonly edges: ListCommitment;
  readonly rootHash: string;
  /** Number of events of the run that the graph covers, counted from the first. */
  readonly events: number;
  /** Number of references that name no event of the run. */
  readonly unresolved: number;
  readonly checks: CausalVerdicts;
}

interface CausalVerdicts {
  /** Whether neither containment nor the other edges have a cycle. */
  readonly acyclic: boolean;
  readonly causesBeforeEffects: boolean;
  readonly nodesBoundToLeaves: boolean;
}

/** The clear members of a `gov.graph/1` leaf except its type. A recomputation of the layer needs all of them. */
export function graphLeafFields(
  runId: string,
  facts: Omit<GraphFacts, 'checks'>,
  sealed: boolean,
): JsonObject {
  const { nodes, edges, rootHash, events, unresolved } = facts;
  return { runId, nodes: { ...nodes }, edges: { ...edges }, rootHash, events, unresolved, sealed };
}

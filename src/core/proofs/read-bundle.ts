/**
 * Strict reader of proof bundles: limited in bytes, depth and values; every member has its type, and unknown members
 * are refused. It reads a bundle of any size in two passes, whatever the order of its members: the frame, which is
 * everything but the events, and then the events one by one. It verifies nothing.
 * Proven by `test/core/proofs/hostile.test.ts`.
 */
import type { ComplianceProof } from '../../contract/proofs.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import {
  type BundleApproval,
  type BundleCompleteness,
  type BundleEdge,
  type BundleErasures,
  type BundleEvent,
  type BundleFrame,
  type FrameGraph,
  EdgeList,
  type IncludedRecord,
  liveBundleMediaType,
  mediaTypeOf,
} from './bundle.ts';
import { readEntry } from '../completeness/entry.ts';
import type { DsseEnvelope } from '../note/dsse.ts';
import { nodeIdPattern } from '../events/links.ts';
import { graphTypePattern, type NodeItem } from '../graphs/rows.ts';
import { LargeList, moved } from '../json/large-list.ts';
import { type Json, type JsonBounds, type JsonObject, parseJson } from '../json/parse.ts';
import {
  anyObject,
  count,
  hash,
  hashForm,
  list,
  object,
  plainText,
  refuse,
  text,
  type Form,
  type Items,
  type Location,
  type Shape,
} from '../json/shape.ts';
import { isCount } from '../count.ts';

const bounds: JsonBounds = {
  depth: limits.jsonDepth,
  values: limits.bundleValues,
  nameChars: limits.memberNameChars,
  stringBytes: limits.bundleStringBytes,
};

const bundleShape: Shape = {
  required: [
    'mediaType',
    'proof',
    'proofPreimage',
    'layerStatements',
    'proofLeaf',
    'checkpoint',
    'proofCheckpoint',
    'consistency',
  ],
  optional: ['events', 'eventsInclusion', 'erasures', 'graph', 'completeness', 'approvals', 'dsse'],
};
const proofShape: Shape = {
  required: ['proofId', 'runId', 'schemaVersion', 'commitment', 'proofHash', 'layers', 'createdAt'],
};
const commitmentShape: Shape = { required: ['runId', 'schemaVersion', 'timestamp'] };
const layerShape: Shape = { required: ['name', 'hash', 'verified'] };
const includedShape: Shape = { required: ['index', 'record', 'inclusion'] };
const eventShape: Shape = {
  required: ['index', 'record'],
  optional: ['inclusion', 'disclosures', 'withheld'],
};
const approvalShape: Shape = { required: ['index', 'record', 'inclusion'], optional: ['disclosures'] };
const erasuresShape: Shape = { required: ['checkpoint', 'consistency', 'leaves'] };
const completenessShape: Shape = { required: ['index', 'entries'] };
const graphShape: Shape = { required: ['nodes', 'edges'], optional: ['leaf'] };
const nodeShape: Shape = { required: ['dataCommitment', 'id', 'index', 'type'] };
const dsseShape: Shape = { required: ['payload', 'payloadType', 'signatures'] };
const signatureShape: Shape = { required: ['sig'], optional: ['keyid'] };

/**
 * Reads a bundle without its events, as its bytes arrive. Attacker controlled. `push` and `end` throw PAYLOAD_TOO_LARGE,
 * INVALID_JSON, JSON_TOO_COMPLEX, or VALIDATION_ERROR with the pointer of the wrong member. The events are neither checked
 * nor kept: `EventReader` reads them in a second pass. Memory: `limits.bundleRestBytes` and their values.
 */
export class FrameReader {
  readonly #graph = new GraphItems();
  readonly #list = new LargeList({
    ...sizes,
    keepsRest: true,
    lists: [
      { path: ['events'], isKept: false, item: () => {} },
      { path: ['graph', 'nodes'], isKept: true, item: (bytes, at) => this.#graph.node(bytes, at) },
      { path: ['graph', 'edges'], isKept: true, item: (bytes, at) => this.#graph.edge(bytes, at) },
    ],
  });

  push(chunk: Uint8Array): void {
    this.#list.push(chunk);
  }

  end(): BundleFrame {
    const rest = this.#list.end();
    try {
      return frameOf(object(parseJson(rest.bytes, bounds), null, bundleShape), this.#graph);
    } catch (error) {
      throw error instanceof GovError ? moved(error, rest.offset) : error;
    }
  }
}

/** The items of a graph, read one by one: of 100,000 events it has half a million. */
class GraphItems {
  readonly nodes: NodeItem[] = [];
  readonly edges = new EdgeList();
  #values = 0;

  node(bytes: Uint8Array, at: number): void {
    this.#count(5, at);
    const place = { up: inGraph('nodes'), name: this.nodes.length };
    this.nodes.push(itemAt(bytes, at, (value) => readNode(value, place)));
  }

  edge(bytes: Uint8Array, at: number): void {
    this.#count(4, at);
    const place = { up: inGraph('edges'), name: this.edges.length };
    this.edges.add(itemAt(bytes, at, (value) => readEdge(value, place)));
  }

  /** Counts as `parseJson` does: an item and its members. */
  #count(values: number, at: number): void {
    this.#values += values;
    if (this.#values <= limits.bundleValues) return;
    const detail = `expected at most ${limits.bundleValues} values in the graph, got more at byte ${at}`;
    throw new GovError('JSON_TOO_COMPLEX', detail, { extensions: { offset: at } });
  }
}

const inGraph = (name: string): Location => ({ up: { up: null, name: 'graph' }, name });

/** Parses and reads an item of a list; `at`: its offset in the file, for errors. */
function itemAt<Item>(bytes: Uint8Array, at: number, read: (value: Json) => Item): Item {
  try {
    return read(parseJson(bytes, bounds));
  } catch (error) {
    throw error instanceof GovError ? moved(error, (within) => at + within) : error;
  }
}

/** Reads the frame of a bundle in memory. Errors: those of `FrameReader`. */
export function readFrame(bytes: Uint8Array): BundleFrame {
  const reader = new FrameReader();
  reader.push(bytes);
  return reader.end();
}

/**
 * Reads the events of a bundle, one by one, as its bytes arrive. Attacker controlled; throws the errors of `FrameReader`,
 * which must have read these bytes before. Memory: one event of at most `limits.bundleEventBytes`.
 */
export class EventReader {
  readonly #list: LargeList;
  #count = 0;

  constructor(take: (event: BundleEvent) => void) {
    const item = (bytes: Uint8Array, at: number): void => {
      const place = { up: { up: null, name: 'events' }, name: this.#count++ };
      take(itemAt(bytes, at, (value) => readEvent(value, place)));
    };
    this.#list = new LargeList({
      ...sizes,
      keepsRest: false,
      lists: [{ path: ['events'], isKept: false, item }],
    });
  }

  push(chunk: Uint8Array): void {
    this.#list.push(chunk);
  }

  end(): void {
    this.#list.end();
  }
}

const sizes = {
  bytes: limits.bundleBytes,
  restBytes: limits.bundleRestBytes,
  itemBytes: limits.bundleEventBytes,
} as const;

/** The lists of events and of the graph are empty in it: `LargeList` took their items. */
function frameOf(bundle: JsonObject, items: GraphItems): BundleFrame {
  const root: Location = null;
  const { events, eventsInclusion, erasures, graph, completeness, approvals, dsse } = bundle;
  const layerStatements = readStatements(bundle['layerStatements'], { up: root, name: 'layerStatements' });
  const mediaType = mediaTypeOf({
    hasGraph: graph !== undefined,
    hasCompleteness: completeness !== undefined,
    layerStatements,
  });
  if (bundle['mediaType'] !== mediaType) {
    refuse({ up: root, name: 'mediaType' }, mediaType, bundle['mediaType']);
  }
  if (events === undefined && eventsInclusion !== undefined) {
    refuse({ up: root, name: 'events' }, 'the events of eventsInclusion', events);
  }
  if (events !== undefined) requireTaken(events, { up: root, name: 'events' });
  return {
    mediaType,
    proof: readProof(bundle['proof'], { up: root, name: 'proof' }),
    proofPreimage: text(bundle, 'proofPreimage', root),
    layerStatements,
    proofLeaf: readIncluded(bundle['proofLeaf'], { up: root, name: 'proofLeaf' }),
    checkpoint: text(bundle, 'checkpoint', root),
    proofCheckpoint: text(bundle, 'proofCheckpoint', root),
    consistency: list(bundle, 'consistency', root, pathItems),
    hasEvents: events !== undefined,
    ...(eventsInclusion === undefined
      ? {}
      : { eventsInclusion: list(bundle, 'eventsInclusion', root, sharedPathItems) }),
    ...(erasures === undefined ? {} : { erasures: readErasures(erasures, { up: root, name: 'erasures' }) }),
    ...(graph === undefined
      ? {}
      : { graph: readGraph(graph, { items, mayLackLeaf: mediaType === liveBundleMediaType }) }),
    ...(completeness === undefined
      ? {}
      : { completeness: readCompleteness(completeness, { up: root, name: 'completeness' }) }),
    ...(approvals === undefined
      ? {}
      : { approvals: list(bundle, 'approvals', root, { max: limits.bundleApprovals, read: readApproval }) }),
    ...(dsse === undefined ? {} : { dsse: readDsse(dsse, { up: root, name: 'dsse' }) }),
  };
}

/** Reads the artifact of a proof; all members are required. Throws VALIDATION_ERROR. Attacker controlled. */
export function readProof(value: Json | undefined, at: Location = null): ComplianceProof {
  const proof = object(value, at, proofShape);
  const place: Location = { up: at, name: 'commitment' };
  const commitment = object(proof['commitment'], place, commitmentShape);
  return {
    proofId: text(proof, 'proofId', at),
    runId: text(proof, 'runId', at),
    schemaVersion: text(proof, 'schemaVersion', at),
    commitment: {
      runId: text(commitment, 'runId', place),
      schemaVersion: text(commitment, 'schemaVersion', place),
      timestamp: text(commitment, 'timestamp', place),
    },
    proofHash: text(proof, 'proofHash', at, hashForm),
    layers: list(proof, 'layers', at, { max: limits.layers, read: readLayer }),
    createdAt: text(proof, 'createdAt', at),
  };
}

function readLayer(value: Json, at: Location): ComplianceProof['layers'][number] {
  const layer = object(value, at, layerShape);
  const { verified } = layer;
  if (typeof verified !== 'boolean') refuse({ up: at, name: 'verified' }, 'true or false', verified);
  return { name: text(layer, 'name', at), hash: text(layer, 'hash', at, hashForm), verified };
}

function readStatements(value: Json | undefined, at: Location): Record<string, string> {
  const statements = anyObject(value, at);
  const names = Object.keys(statements);
  if (names.length > limits.layers) refuse(at, `at most ${limits.layers} statements`, names.length);
  // Without a prototype, `__proto__` is a name like any other.
  const texts = Object.create(null) as Record<string, string>;
  for (const name of names) texts[name] = text(statements, name, at);
  return texts;
}

export function readIncluded(value: Json | undefined, at: Location): IncludedRecord {
  const leaf = object(value, at, includedShape);
  return {
    index: count(leaf, 'index', at),
    record: text(leaf, 'record', at),
    inclusion: list(leaf, 'inclusion', at, pathItems),
  };
}

function readEvent(value: Json, at: Location): BundleEvent {
  const event = object(value, at, eventShape);
  const { inclusion, disclosures, withheld } = event;
  return {
    index: count(event, 'index', at),
    record: text(event, 'record', at),
    ...(inclusion === undefined ? {} : { inclusion: list(event, 'inclusion', at, pathItems) }),
    ...(disclosures === undefined ? {} : { disclosures: list(event, 'disclosures', at, textItems) }),
    ...(withheld === undefined ? {} : { withheld: list(event, 'withheld', at, textItems) }),
  };
}

function readApproval(value: Json, at: Location): BundleApproval {
  const leaf = object(value, at, approvalShape);
  return {
    index: count(leaf, 'index', at),
    record: text(leaf, 'record', at),
    inclusion: list(leaf, 'inclusion', at, pathItems),
    ...(leaf['disclosures'] === undefined ? {} : { disclosures: list(leaf, 'disclosures', at, textItems) }),
  };
}

function readErasures(value: Json, at: Location): BundleErasures {
  const erasures = object(value, at, erasuresShape);
  return {
    checkpoint: text(erasures, 'checkpoint', at),
    consistency: list(erasures, 'consistency', at, pathItems),
    leaves: list(erasures, 'leaves', at, { max: limits.bundleErasures, read: readIncluded }),
  };
}

function readCompleteness(value: Json, at: Location): BundleCompleteness {
  const completeness = object(value, at, completenessShape);
  return {
    index: readIncluded(completeness['index'], { up: at, name: 'index' }),
    entries: list(completeness, 'entries', at, { max: limits.layers, read: readEntry }),
  };
}

function readGraph(
  value: Json,
  { items, mayLackLeaf }: { readonly items: GraphItems; readonly mayLackLeaf: boolean },
): FrameGraph {
  const at: Location = { up: null, name: 'graph' };
  const { nodes, edges } = items;
  const graph = object(value, at, graphShape);
  for (const name of ['nodes', 'edges'] as const) requireTaken(graph[name], { up: at, name });
  if (graph['leaf'] === undefined && mayLackLeaf) return { nodes, edges };
  return { leaf: readIncluded(graph['leaf'], { up: at, name: 'leaf' }), nodes, edges };
}

/** Refuses a list with items that `LargeList` did not take, so that none is passed over. */
function requireTaken(value: Json | undefined, at: Location): void {
  if (!Array.isArray(value)) refuse(at, 'an array', value);
  if (value.length > 0) refuse(at, 'a list that was read item by item', value);
}

function readNode(value: Json, at: Location): NodeItem {
  const node = object(value, at, nodeShape);
  return {
    id: text(node, 'id', at, nodeIdForm),
    index: node['index'] === null ? null : count(node, 'index', at),
    type: text(node, 'type', at, graphTypeForm),
    dataCommitment: text(node, 'dataCommitment', at, hashForm),
  };
}

function readEdge(value: Json, at: Location): BundleEdge {
  if (!Array.isArray(value) || value.length !== 3) refuse(at, 'source, target and type', value);
  // Without destructuring, which goes through an iterator and is slower.
  const source = value[0];
  const target = value[1];
  const type = value[2];
  if (!isCount(source) || !isCount(target)) refuse(at, 'two positions of nodes', value);
  if (typeof type !== 'string' || !graphTypePattern.test(type)) refuse(at, graphTypeForm.expected, value);
  return [source, target, type];
}

function readDsse(value: Json, at: Location): DsseEnvelope {
  const envelope = object(value, at, dsseShape);
  return {
    payload: text(envelope, 'payload', at),
    payloadType: text(envelope, 'payloadType', at),
    signatures: list(envelope, 'signatures', at, { max: limits.noteSignatures, read: readSignature }),
  };
}

function readSignature(value: Json, at: Location): DsseEnvelope['signatures'][number] {
  const signature = object(value, at, signatureShape);
  return {
    ...(signature['keyid'] === undefined ? {} : { keyid: text(signature, 'keyid', at) }),
    sig: text(signature, 'sig', at),
  };
}

const nodeIdForm: Form = { pattern: nodeIdPattern, expected: 'a node id' };
const graphTypeForm: Form = { pattern: graphTypePattern, expected: 'a node or edge type' };

const pathItems: Items<string> = { max: limits.proofPathHashes, read: hash };
const sharedPathItems: Items<string> = { max: limits.bundleValues, read: hash };
const textItems: Items<string> = { max: limits.committedFields, read: plainText };

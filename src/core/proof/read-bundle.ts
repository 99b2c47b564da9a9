/**
 * Strict reader of proof bundles: limited in bytes, depth and values; every member has its type, and unknown members
 * are refused. It verifies nothing. Proven by `test/core/proof/hostile.test.ts`.
 */
import type { ComplianceProof } from '../../contract/proofs.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import {
  type Bundle,
  type BundleCompleteness,
  type BundleEdge,
  type BundleErasures,
  type BundleEvent,
  type BundleGraph,
  bundleMediaType,
  completeBundleMediaType,
  type IncludedRecord,
} from './bundle.ts';
import { readEntry } from '../completeness/entry.ts';
import type { DsseEnvelope } from '../note/dsse.ts';
import { nodeIdPattern } from '../event/links.ts';
import { graphTypePattern, type NodeItem } from '../graph/rows.ts';
import { type Json, type JsonBounds, parseJson } from '../json/parse.ts';
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
  optional: ['events', 'eventsInclusion', 'erasures', 'graph', 'completeness', 'dsse'],
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
const erasuresShape: Shape = { required: ['checkpoint', 'consistency', 'leaves'] };
const completenessShape: Shape = { required: ['index', 'entries'] };
const graphShape: Shape = { required: ['leaf', 'nodes', 'edges'] };
const nodeShape: Shape = { required: ['dataCommitment', 'id', 'index', 'type'] };
const dsseShape: Shape = { required: ['payload', 'payloadType', 'signatures'] };
const signatureShape: Shape = { required: ['sig'], optional: ['keyid'] };

/**
 * Reads a bundle from attacker-controlled bytes. Throws PAYLOAD_TOO_LARGE, INVALID_JSON, JSON_TOO_COMPLEX, or
 * VALIDATION_ERROR with the pointer of the wrong member.
 */
export function readBundle(bytes: Uint8Array): Bundle {
  if (bytes.length > limits.bundleBytes) {
    throw new GovError(
      'PAYLOAD_TOO_LARGE',
      `expected a bundle of at most ${limits.bundleBytes} bytes, got ${bytes.length}`,
    );
  }
  const root: Location = null;
  const bundle = object(parseJson(bytes, bounds), root, bundleShape);
  const { events, eventsInclusion, erasures, graph, completeness, dsse } = bundle;
  const mediaType = completeness === undefined ? bundleMediaType : completeBundleMediaType;
  if (bundle['mediaType'] !== mediaType) {
    refuse({ up: root, name: 'mediaType' }, mediaType, bundle['mediaType']);
  }
  if (events === undefined && eventsInclusion !== undefined) {
    refuse({ up: root, name: 'events' }, 'the events of eventsInclusion', events);
  }
  return {
    mediaType,
    proof: readProof(bundle['proof'], { up: root, name: 'proof' }),
    proofPreimage: text(bundle, 'proofPreimage', root),
    layerStatements: readStatements(bundle['layerStatements'], { up: root, name: 'layerStatements' }),
    proofLeaf: readIncluded(bundle['proofLeaf'], { up: root, name: 'proofLeaf' }),
    checkpoint: text(bundle, 'checkpoint', root),
    proofCheckpoint: text(bundle, 'proofCheckpoint', root),
    consistency: list(bundle, 'consistency', root, pathItems),
    ...(events === undefined ? {} : { events: list(bundle, 'events', root, eventItems) }),
    ...(eventsInclusion === undefined
      ? {}
      : { eventsInclusion: list(bundle, 'eventsInclusion', root, sharedPathItems) }),
    ...(erasures === undefined ? {} : { erasures: readErasures(erasures, { up: root, name: 'erasures' }) }),
    ...(graph === undefined ? {} : { graph: readGraph(graph, { up: root, name: 'graph' }) }),
    ...(completeness === undefined
      ? {}
      : { completeness: readCompleteness(completeness, { up: root, name: 'completeness' }) }),
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

function readGraph(value: Json, at: Location): BundleGraph {
  const graph = object(value, at, graphShape);
  const types = new Set<string>();
  return {
    leaf: readIncluded(graph['leaf'], { up: at, name: 'leaf' }),
    nodes: list(graph, 'nodes', at, { max: limits.bundleValues, read: readNode }),
    edges: list(graph, 'edges', at, {
      max: limits.bundleValues,
      read: (edge, place) => readEdge(edge, place, types),
    }),
  };
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

/** `types`: edge types that were checked before; there are few. */
function readEdge(value: Json, at: Location, types: Set<string>): BundleEdge {
  if (!Array.isArray(value) || value.length !== 3) refuse(at, 'source, target and type', value);
  // Without destructuring, which goes through an iterator and is slower.
  const source = value[0];
  const target = value[1];
  const type = value[2];
  if (!isCount(source) || !isCount(target)) refuse(at, 'two positions of nodes', value);
  if (typeof type !== 'string') refuse(at, graphTypeForm.expected, value);
  if (!types.has(type)) {
    if (!graphTypePattern.test(type)) refuse(at, graphTypeForm.expected, value);
    types.add(type);
  }
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
const eventItems: Items<BundleEvent> = { max: limits.bundleEvents, read: readEvent };

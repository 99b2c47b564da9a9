/**
 * Reads a proof bundle strictly: bounded in bytes, depth and values, every member of its type, no member
 * unknown. Nothing is verified here. Proven by `test/core/verify.test.ts` (hostile inputs).
 */
import type { ComplianceProof } from '../contract/proofs.ts';
import { limits } from '../contract/limits.ts';
import { GovError } from '../contract/problems.ts';
import {
  type Bundle,
  type BundleEvent,
  type BundleGraph,
  bundleMediaType,
  type IncludedRecord,
} from './bundle.ts';
import type { DsseEnvelope } from './dsse.ts';
import { nodeIdPattern } from './eventlinks.ts';
import { type EdgeItem, graphTypePattern, type NodeItem } from './graph.ts';
import { type Json, type JsonBounds, type JsonObject, parseJson } from './json.ts';

const bounds: JsonBounds = {
  depth: limits.jsonDepth,
  values: limits.bundleValues,
  nameChars: limits.memberNameChars,
  stringBytes: limits.bundleStringBytes,
};

const bundleShape = {
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
  optional: ['events', 'eventsInclusion', 'graph', 'dsse'],
};
const proofShape = {
  required: ['proofId', 'runId', 'schemaVersion', 'commitment', 'proofHash', 'layers', 'createdAt'],
};
const commitmentShape = { required: ['runId', 'schemaVersion', 'timestamp'] };
const layerShape = { required: ['name', 'hash', 'verified'] };
const includedShape = { required: ['index', 'record', 'inclusion'] };
const eventShape = { required: ['index', 'record'], optional: ['inclusion', 'disclosures', 'withheld'] };
const graphShape = { required: ['leaf', 'nodes', 'edges'] };
const nodeShape = { required: ['id', 'index', 'type', 'dataCommitment'] };
const edgeShape = { required: ['source', 'target', 'type'] };
const dsseShape = { required: ['payload', 'payloadType', 'signatures'] };
const signatureShape = { required: ['sig'], optional: ['keyid'] };

/**
 * The bundle in these bytes, which may be an attacker's. Throws PAYLOAD_TOO_LARGE, INVALID_JSON,
 * JSON_TOO_COMPLEX, or VALIDATION_ERROR with the pointer of what does not belong.
 */
export function readBundle(bytes: Uint8Array): Bundle {
  if (bytes.length > limits.bundleBytes) {
    throw new GovError(
      'PAYLOAD_TOO_LARGE',
      `expected a bundle of at most ${limits.bundleBytes} bytes, got ${bytes.length}`,
    );
  }
  const bundle = members(parseJson(bytes, bounds), '', bundleShape);
  if (bundle['mediaType'] !== bundleMediaType) refuse('/mediaType', bundleMediaType, bundle['mediaType']);
  const { events, eventsInclusion, graph, dsse } = bundle;
  if (events === undefined && eventsInclusion !== undefined)
    refuse('/events', 'events with their path', events);
  return {
    mediaType: bundleMediaType,
    proof: readProof(bundle['proof'], '/proof'),
    proofPreimage: text(bundle['proofPreimage'], '/proofPreimage'),
    layerStatements: readStatements(bundle['layerStatements'], '/layerStatements'),
    proofLeaf: readIncluded(bundle['proofLeaf'], '/proofLeaf'),
    checkpoint: text(bundle['checkpoint'], '/checkpoint'),
    proofCheckpoint: text(bundle['proofCheckpoint'], '/proofCheckpoint'),
    consistency: path(bundle['consistency'], '/consistency'),
    ...(events === undefined
      ? {}
      : { events: each(events, '/events', { max: limits.bundleEvents, read: readEvent }) }),
    ...(eventsInclusion === undefined
      ? {}
      : { eventsInclusion: hashes(eventsInclusion, '/eventsInclusion', limits.bundleValues) }),
    ...(graph === undefined ? {} : { graph: readGraph(graph, '/graph') }),
    ...(dsse === undefined ? {} : { dsse: readDsse(dsse, '/dsse') }),
  };
}

/** Reads the artifact of a proof, all members required. Throws VALIDATION_ERROR. */
export function readProof(value: Json | undefined, at: string): ComplianceProof {
  const proof = members(value, at, proofShape);
  const commitment = members(proof['commitment'], `${at}/commitment`, commitmentShape);
  return {
    proofId: text(proof['proofId'], `${at}/proofId`),
    runId: text(proof['runId'], `${at}/runId`),
    schemaVersion: text(proof['schemaVersion'], `${at}/schemaVersion`),
    commitment: {
      runId: text(commitment['runId'], `${at}/commitment/runId`),
      schemaVersion: text(commitment['schemaVersion'], `${at}/commitment/schemaVersion`),
      timestamp: text(commitment['timestamp'], `${at}/commitment/timestamp`),
    },
    proofHash: hash(proof['proofHash'], `${at}/proofHash`),
    layers: each(proof['layers'], `${at}/layers`, { max: limits.layers, read: readLayer }),
    createdAt: text(proof['createdAt'], `${at}/createdAt`),
  };
}

function readLayer(value: Json, at: string): ComplianceProof['layers'][number] {
  const layer = members(value, at, layerShape);
  const { verified } = layer;
  if (typeof verified !== 'boolean') refuse(`${at}/verified`, 'true or false', verified);
  return { name: text(layer['name'], `${at}/name`), hash: hash(layer['hash'], `${at}/hash`), verified };
}

function readStatements(value: Json | undefined, at: string): Record<string, string> {
  const statements = object(value, at);
  const names = Object.keys(statements);
  if (names.length > limits.layers) refuse(at, `at most ${limits.layers} statements`, names.length);
  // Without a prototype, `__proto__` is a name like any other.
  const texts = Object.create(null) as Record<string, string>;
  for (const name of names) texts[name] = text(statements[name], `${at}/${name}`);
  return texts;
}

function readIncluded(value: Json | undefined, at: string): IncludedRecord {
  const { index, record, inclusion } = members(value, at, includedShape);
  return {
    index: count(index, `${at}/index`),
    record: text(record, `${at}/record`),
    inclusion: path(inclusion, `${at}/inclusion`),
  };
}

function readEvent(value: Json, at: string): BundleEvent {
  const event = members(value, at, eventShape);
  const { inclusion, disclosures, withheld } = event;
  return {
    index: count(event['index'], `${at}/index`),
    record: text(event['record'], `${at}/record`),
    ...(inclusion === undefined ? {} : { inclusion: path(inclusion, `${at}/inclusion`) }),
    ...(disclosures === undefined ? {} : { disclosures: texts(disclosures, `${at}/disclosures`) }),
    ...(withheld === undefined ? {} : { withheld: texts(withheld, `${at}/withheld`) }),
  };
}

function readGraph(value: Json, at: string): BundleGraph {
  const { leaf, nodes, edges } = members(value, at, graphShape);
  return {
    leaf: readIncluded(leaf, `${at}/leaf`),
    nodes: each(nodes, `${at}/nodes`, { max: limits.bundleValues, read: readNode }),
    edges: each(edges, `${at}/edges`, { max: limits.bundleValues, read: readEdge }),
  };
}

function readNode(value: Json, at: string): NodeItem {
  const { id, index, type, dataCommitment } = members(value, at, nodeShape);
  return {
    id: nodeId(id, `${at}/id`),
    index: index === null ? null : count(index, `${at}/index`),
    type: graphType(type, `${at}/type`),
    dataCommitment: hash(dataCommitment, `${at}/dataCommitment`),
  };
}

function readEdge(value: Json, at: string): EdgeItem {
  const { source, target, type } = members(value, at, edgeShape);
  return {
    source: nodeId(source, `${at}/source`),
    target: nodeId(target, `${at}/target`),
    type: graphType(type, `${at}/type`),
  };
}

function readDsse(value: Json, at: string): DsseEnvelope {
  const { payload, payloadType, signatures } = members(value, at, dsseShape);
  return {
    payload: text(payload, `${at}/payload`),
    payloadType: text(payloadType, `${at}/payloadType`),
    signatures: each(signatures, `${at}/signatures`, { max: limits.noteSignatures, read: readSignature }),
  };
}

function readSignature(value: Json, at: string): DsseEnvelope['signatures'][number] {
  const { keyid, sig } = members(value, at, signatureShape);
  return {
    ...(keyid === undefined ? {} : { keyid: text(keyid, `${at}/keyid`) }),
    sig: text(sig, `${at}/sig`),
  };
}

function object(value: Json | undefined, at: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(at, 'an object', value);
  return value;
}

interface Members {
  readonly required: readonly string[];
  readonly optional?: readonly string[];
}

/** An object with these members, and at most the optional ones beside them. */
function members(value: Json | undefined, at: string, { required, optional = [] }: Members): JsonObject {
  const read = object(value, at);
  let found = 0;
  for (const name of required) {
    if (!Object.hasOwn(read, name)) refuse(`${at}/${name}`, 'a member', undefined);
    found++;
  }
  for (const name of optional) if (Object.hasOwn(read, name)) found++;
  const names = Object.keys(read);
  if (names.length === found) return read;
  const unknown = names.find((name) => !required.includes(name) && !optional.includes(name)) ?? '';
  refuse(`${at}/${unknown.slice(0, limits.echoChars)}`, 'no such member', read[unknown]);
}

interface Items<Item> {
  readonly max: number;
  readonly read: (item: Json, at: string) => Item;
}

/** The items of an array of at most `max`, each read at its own pointer. */
function each<Item>(value: Json | undefined, at: string, { max, read }: Items<Item>): Item[] {
  if (!Array.isArray(value)) refuse(at, 'an array', value);
  if (value.length > max) refuse(at, `at most ${max} items`, value.length);
  return value.map((item, position) => read(item, `${at}/${position}`));
}

function text(value: Json | undefined, at: string): string {
  if (typeof value !== 'string') refuse(at, 'text', value);
  return value;
}

const texts = (value: Json | undefined, at: string): string[] =>
  each(value, at, { max: limits.committedFields, read: text });

function nodeId(value: Json | undefined, at: string): string {
  if (typeof value !== 'string' || !nodeIdPattern.test(value)) refuse(at, 'a node id', value);
  return value;
}

function graphType(value: Json | undefined, at: string): string {
  if (typeof value !== 'string' || !graphTypePattern.test(value)) refuse(at, 'a type', value);
  return value;
}

function count(value: Json | undefined, at: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    refuse(at, 'an integer from 0 to 2^53-1', value);
  }
  return value;
}

const hashPattern = /^sha256:[0-9a-f]{64}$/;

function hash(value: Json | undefined, at: string): string {
  if (typeof value !== 'string' || !hashPattern.test(value)) refuse(at, 'sha256: and 64 hex digits', value);
  return value;
}

const hashes = (value: Json | undefined, at: string, max: number): string[] =>
  each(value, at, { max: max, read: hash });

const path = (value: Json | undefined, at: string): string[] => hashes(value, at, limits.proofPathHashes);

function refuse(at: string, expected: string, value: Json | undefined): never {
  const got = typeof value === 'string' ? JSON.stringify(value.slice(0, limits.echoChars)) : kind(value);
  throw new GovError('VALIDATION_ERROR', `bundle ${at === '' ? '/' : at}: expected ${expected}, got ${got}`);
}

function kind(value: Json | undefined): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return String(value);
}

/**
 * Nodes and edges that a client declares in addition to those derived from events (contract F14). The store has a
 * declaration as the JCS text of `{ edges, nodes, salt }`, nodes sorted by id and edges by (source, target, type); its
 * hash identifies the declaration in a logged graph. A declared node commits to its data by
 * `SHA-256("gov.node/v1\n" || JCS({ data, id, salt, type }))`. Proven by `test/core/graphs/declaration.test.ts`.
 */
import type { FieldCode } from '../../contract/field-codes.ts';
import type { GraphDeclaration, GraphEdge } from '../../contract/graphs.ts';
import { limits } from '../../contract/limits.ts';
import { GovError, type FieldError } from '../../contract/problems.ts';
import { isEventForm, runNodeId } from './rows.ts';
import { labelled, sha256Text } from '../hash.ts';
import { canonicalize, readJson, type Json, type JsonObject } from '../json/parse.ts';

export interface DeclaredNode {
  readonly id: string;
  readonly type: string;
  readonly data: JsonObject;
}

export interface Declaration {
  /** 16 random bytes, base64url. */
  readonly salt: string;
  readonly nodes: readonly DeclaredNode[];
  readonly edges: readonly GraphEdge[];
}

/**
 * Checks a declaration. Throws VALIDATION_ERROR with pointers for a repeated node or edge, a node that poses as an event
 * or as the run, or an edge to a node that is neither declared nor `known` (a derived node of the run). The client
 * controls the input, which matches the contract.
 */
export function checkDeclaration(
  input: GraphDeclaration,
  runId: string,
  known: (nodeId: string) => boolean,
): void {
  const checks = checking(input, runId, known);
  while (checks.next().done !== true);
}

/** Nodes or edges between two pauses: 1 ms. */
const checkedAtOnce = 1000;

/** `checkDeclaration` with pauses, at which other work may run. Returns whether an edge names a node of the run. */
export function* checking(
  input: GraphDeclaration,
  runId: string,
  known: (nodeId: string) => boolean,
): Generator<void, boolean> {
  const errors: FieldError[] = [];
  const fault = (pointer: string, code: FieldCode, detail: string): void => {
    errors.push({ pointer, in: 'body', code, detail });
  };
  const ids = new Set<string>();
  const runNode = runNodeId(runId);
  for (const [at, { id, type }] of input.nodes.entries()) {
    if (at % checkedAtOnce === 0) yield;
    if (ids.has(id)) fault(`/nodes/${at}/id`, 'DUPLICATE_ITEM', `expected each node once, got ${id} again`);
    ids.add(id);
    const isEvent = isEventForm(id);
    if (isEvent && !known(id)) {
      fault(`/nodes/${at}/id`, 'NOT_ALLOWED', 'expected an event of this run, or an id without evt_');
    } else if (isEvent !== (type === 'event')) {
      const expected = isEvent
        ? 'type event, because this node is an event'
        : 'another type than event, which only recorded events have';
      fault(`/nodes/${at}/type`, 'NOT_ALLOWED', `expected ${expected}`);
    } else if (id === runNode && type !== 'run') {
      fault(`/nodes/${at}/type`, 'NOT_ALLOWED', 'expected type run, because this node is the run');
    }
  }
  const seen = new Set<string>();
  let namesOther = false;
  for (const [at, edge] of input.edges.entries()) {
    if (at % checkedAtOnce === 0) yield;
    for (const end of ['source', 'target'] as const) {
      if (ids.has(edge[end])) continue;
      namesOther = true;
      if (known(edge[end])) continue;
      fault(`/edges/${at}/${end}`, 'UNKNOWN_NODE', 'expected a declared node or a node of the run');
    }
    const key = edgeKey(edge);
    if (seen.has(key)) fault(`/edges/${at}`, 'DUPLICATE_ITEM', 'expected each edge once');
    seen.add(key);
  }
  const [first] = errors;
  if (first === undefined) return namesOther;
  throw new GovError('VALIDATION_ERROR', `body ${first.pointer}: ${first.detail}`, {
    errors: errors.slice(0, limits.fieldErrors),
    ...(errors.length > limits.fieldErrors ? { extensions: { errorsTruncated: true } } : {}),
  });
}

/** Returns a checked input in stored order; with `previous`, the union, in which nodes of the input replace others. */
export function declare(
  input: GraphDeclaration,
  salt: string,
  previous: Declaration | null = null,
): Declaration {
  const nodes = new Map<string, DeclaredNode>();
  for (const node of [...(previous?.nodes ?? []), ...input.nodes]) {
    nodes.set(node.id, { id: node.id, type: node.type, data: (node.data ?? {}) as JsonObject });
  }
  const edges = new Map<string, GraphEdge>();
  for (const edge of [...(previous?.edges ?? []), ...input.edges]) edges.set(edgeKey(edge), edge);
  return {
    salt,
    nodes: [...nodes.values()].sort((a, b) => compare(a.id, b.id)),
    edges: [...edges.values()].sort(
      (a, b) => compare(a.source, b.source) || compare(a.target, b.target) || compare(a.type, b.type),
    ),
  };
}

export const declarationText = (declaration: Declaration): string =>
  canonicalize(declaration as unknown as Json);

/** Reads a text of `declarationText` from our own store. */
export const readDeclaration = (text: string): Declaration => readJson(text) as unknown as Declaration;

/** Returns the hash of a declaration text, as in `StoredGraph.declarationHash`. */
export const declarationHash = (text: string): string => sha256Text(text);

/** Returns the salted commitment of a declared node, `sha256:…`. */
export const declaredCommitment = (salt: string, { id, type, data }: DeclaredNode): string =>
  labelled('gov.node/v1', { data, id, salt, type }).hash;

/** Ids and types contain no space, so the key is unambiguous. */
export const edgeKey = ({ source, target, type }: GraphEdge): string => `${source} ${target} ${type}`;

/** Compares by UTF-16 code units, as JCS does. */
export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Causal graphs (contract F13-F16). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { clientId, exact, freeObject, nullable, runIdParams, sha256Hash, timestamp } from './shapes.ts';

const kind = Type.String({ pattern: '^[a-z][a-z0-9_]*$', maxLength: limits.graphTypeChars });

export const Node = exact({ id: clientId('Node'), type: kind, data: Type.Optional(freeObject) });
export const Edge = exact({
  source: clientId('Node the edge leaves'),
  target: clientId('Node the edge enters'),
  type: kind,
});
const AnsweredNode = Type.Object({ id: Type.String(), type: Type.String(), data: freeObject });
const AnsweredEdge = Type.Object({ source: Type.String(), target: Type.String(), type: Type.String() });
export type GraphNode = Static<typeof AnsweredNode>;
export type GraphEdge = Static<typeof AnsweredEdge>;

export const CausalGraph = Type.Object({
  id: Type.String(),
  runId: Type.String(),
  nodes: Type.Array(AnsweredNode),
  edges: Type.Array(AnsweredEdge),
  digestMetadata: freeObject,
  rootHash: nullable(sha256Hash),
  createdAt: timestamp('When the first event of the run was recorded or the graph was declared'),
  truncated: Type.Optional(Type.Boolean()),
});
export type CausalGraph = Static<typeof CausalGraph>;

/** Members that the service sets. A PUT may repeat them, so that a client can send what GET returned (contract A4). */
const answered = {
  id: Type.Optional(Type.String()),
  runId: Type.Optional(Type.String()),
  digestMetadata: Type.Optional(freeObject),
  rootHash: Type.Optional(nullable(Type.String())),
  createdAt: Type.Optional(Type.String()),
  truncated: Type.Optional(Type.Boolean()),
};
export const graphReadOnly = Object.keys(answered) as (keyof typeof answered)[];

export const GraphDeclaration = exact({
  nodes: Type.Array(Node, { maxItems: limits.graphNodesDeclared }),
  edges: Type.Array(Edge, { maxItems: limits.graphEdgesAnswered }),
  ...answered,
});
export type GraphDeclaration = Static<typeof GraphDeclaration>;

export const graphs = {
  getGraph: operation({
    method: 'GET',
    path: '/graphs/{runId}',
    tag: 'Causal Graphs',
    stability: 'stable',
    origin: 'specification',
    scope: 'graphs:read',
    summary: 'Get the causal graph of a run',
    params: runIdParams,
    success: { 200: CausalGraph },
    statuses: [401, 404, 500],
  }),
  declareGraph: operation({
    method: 'PUT',
    path: '/graphs/{runId}',
    tag: 'Causal Graphs',
    stability: 'beta',
    origin: 'extension',
    scope: 'graphs:write',
    summary: 'Declare nodes and edges in addition to those derived from events',
    params: runIdParams,
    body: GraphDeclaration,
    bodyBytes: limits.graphBodyBytes,
    success: { 200: CausalGraph },
    statuses: [400, 401, 404, 409, 500],
  }),
  commitGraph: operation({
    method: 'POST',
    path: '/graphs/{runId}/commit',
    tag: 'Causal Graphs',
    stability: 'stable',
    origin: 'specification',
    scope: 'graphs:write',
    command: 'graphs commit',
    summary: 'Seal the graph: compute its root hash and log it',
    params: runIdParams,
    success: {
      200: Type.Object({
        runId: Type.String(),
        rootHash: sha256Hash,
        committedAt: timestamp('When it was sealed'),
      }),
    },
    statuses: [401, 404, 500],
  }),
  getLineage: operation({
    method: 'GET',
    path: '/graphs/{runId}/lineage',
    tag: 'Causal Graphs',
    stability: 'stable',
    origin: 'specification',
    scope: 'graphs:read',
    summary: 'Get the ancestors and descendants of a node, or the whole graph',
    params: runIdParams,
    query: exact({ nodeId: Type.Optional(clientId('Node')) }),
    success: {
      200: Type.Object({
        runId: Type.String(),
        nodeId: nullable(Type.String()),
        nodes: Type.Array(AnsweredNode),
        edges: Type.Array(AnsweredEdge),
        truncated: Type.Optional(Type.Boolean()),
      }),
    },
    statuses: [401, 404, 500],
  }),
} as const;

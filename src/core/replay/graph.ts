/**
 * The replay of a causal graph: compares the graph that a client declares (expected) with the events of the run.
 * It receives the derivation item by item (a `GraphSink`), so a run of a million events needs memory for the declaration
 * only. The order of steps:
 *
 *   as derived      each node and edge: match; mismatch if a declared node has another type or other data; extra if it
 *                   was not declared
 *   then, as sent   declared nodes that were not derived: missing
 *   then, as sent   declared edges that were not derived: mismatch if an undeclared derived edge of another type connects
 *                   the same nodes, else missing
 *   then            derived edges between declared nodes that match no declared edge: extra
 *
 * Data is compared in the declared members; derived data may have further members. Drift: a missing item and another type
 * are high, another value is medium, a value that was not derived and an extra item are low.
 * Proven by `test/core/replay/graph.test.ts`.
 */
import type { GraphEdge } from '../../contract/graphs.ts';
import { edgeKey } from '../graphs/declaration.ts';
import type { Json, JsonObject } from '../json/parse.ts';
import type { ReplayCollector } from './collector.ts';
import { Differences, type Severities } from './fields.ts';
import { match, type StepOutcome, type StepSource } from './steps.ts';
import { pointerToken } from '../json/pointer.ts';

/** A declared node. Ids and types match the contract; each node and edge occurs once. */
export interface ExpectedNode {
  readonly id: string;
  readonly type: string;
  readonly data?: JsonObject;
}

export interface ExpectedGraph {
  readonly nodes: readonly ExpectedNode[];
  readonly edges: readonly GraphEdge[];
}

const ofTypes: Severities = { differs: 'high', absent: 'high' };
const ofData: Severities = { differs: 'medium', absent: 'low' };
const ofExtra: Severities = { differs: 'low', absent: 'low' };

/** Edges between the same two nodes that have no counterpart yet. */
interface Ends {
  /** Declared types that were not derived so far. */
  readonly declared: Set<string>;
  /** Derived types that were not declared. */
  readonly derived: Set<string>;
}

export class GraphComparison {
  readonly #expected: ExpectedGraph;
  readonly #collector: ReplayCollector;
  /** For steps without an event. */
  readonly #timestamp: string;
  readonly #missing: Map<string, ExpectedNode>;
  readonly #declaredIds: ReadonlySet<string>;
  readonly #declaredEdges: ReadonlySet<string>;
  readonly #ends = new Map<string, Ends>();
  #notDerivedMembers = 0;

  /** `timestamp`: of the graph. Memory: the declaration. */
  constructor(expected: ExpectedGraph, collector: ReplayCollector, timestamp: string) {
    this.#expected = expected;
    this.#collector = collector;
    this.#timestamp = timestamp;
    this.#missing = new Map(expected.nodes.map((node) => [node.id, node]));
    this.#declaredIds = new Set(this.#missing.keys());
    this.#declaredEdges = new Set(expected.edges.map(edgeKey));
    for (const edge of expected.edges) {
      const key = endsKey(edge);
      const ends = this.#ends.get(key);
      if (ends === undefined) this.#ends.set(key, { declared: new Set([edge.type]), derived: new Set() });
      else ends.declared.add(edge.type);
    }
  }

  /** Adds the next derived node; ignores a repeated one. */
  node({ id, type }: { readonly id: string; readonly type: string }, data: JsonObject): void {
    const declared = this.#missing.get(id);
    const source = nodeSource({ id, type, data }, this.#timestamp);
    if (declared !== undefined) {
      this.#missing.delete(id);
      this.#collector.add(source, this.#compareNode(declared, type, data));
    } else if (!this.#declaredIds.has(id)) {
      this.#collector.add(source, extra(`nodes[${id}]`, type));
    }
  }

  /** Adds the next derived edge. A declared edge counts once, however often it is derived. */
  edge(edge: GraphEdge): void {
    const ends = this.#ends.get(endsKey(edge));
    if (ends?.declared.delete(edge.type) === true) this.#collector.add(this.#edgeSource(edge), match);
    else if (this.#declaredEdges.has(edgeKey(edge))) return;
    else if (ends === undefined) this.#collector.add(this.#edgeSource(edge), extraEdge(edge));
    else ends.derived.add(edge.type);
  }

  /** Ends the derivation: the remaining expected items are missing. */
  finish(): void {
    const collector = this.#collector;
    for (const node of this.#missing.values()) {
      const { id, type } = node;
      collector.add(nodeSource(node, this.#timestamp), absent(`nodes[${id}]`, type));
    }
    for (const edge of this.#expected.edges) this.#finishEdge(edge);
    for (const [key, { derived }] of this.#ends) {
      const [source = '', target = ''] = key.split(' ');
      for (const type of derived) {
        const edge = { source, target, type };
        collector.add(this.#edgeSource(edge), extraEdge(edge));
      }
    }
    if (this.#notDerivedMembers > 0) {
      const members = this.#notDerivedMembers;
      collector.warn(`${members} declared members of node data are not in the events: they match nothing`);
    }
  }

  #compareNode(declared: ExpectedNode, type: string, data: JsonObject): StepOutcome {
    const types = new Differences(ofTypes);
    types.texts('/type', declared.type, type);
    const members = new Differences(ofData);
    for (const [name, value] of Object.entries(declared.data ?? {})) {
      const derived: Json | undefined = Object.hasOwn(data, name) ? data[name] : undefined;
      if (derived === undefined) this.#notDerivedMembers++;
      members.values(`/data/${pointerToken(name)}`, value, derived);
    }
    const count = types.count + members.count;
    if (count === 0) return match;
    const differences = { list: [...types.list, ...members.list], count };
    return { status: 'mismatch', subject: `nodes[${declared.id}]`, differences };
  }

  /** Reports a declared edge that was not derived, unless another edge between the same nodes replaces it. */
  #finishEdge(edge: GraphEdge): void {
    const ends = this.#ends.get(endsKey(edge));
    if (ends?.declared.delete(edge.type) !== true) return;
    const [other] = ends.derived;
    const subject = `edges[${edgeKey(edge)}]`;
    if (other === undefined) {
      this.#collector.add(this.#edgeSource(edge), absent(subject, edge.type));
      return;
    }
    ends.derived.delete(other);
    const differences = new Differences(ofTypes);
    differences.add('/type', edge.type, other);
    this.#collector.add(this.#edgeSource(edge), { status: 'mismatch', subject, differences });
  }

  #edgeSource({ source, target, type }: GraphEdge): StepSource {
    const timestamp = this.#timestamp;
    return { eventId: source, eventType: 'graph.edge', action: `${type} ${target}`, timestamp };
  }
}

/** Describes an event by its recorded members, any other node by its type. */
function nodeSource({ id, type, data = {} }: ExpectedNode, timestamp: string): StepSource {
  const member = (name: string, otherwise: string): string => {
    const value = type === 'event' && Object.hasOwn(data, name) ? data[name] : undefined;
    return typeof value === 'string' && value !== '' ? value : otherwise;
  };
  return {
    eventId: id,
    eventType: member('eventType', 'graph.node'),
    action: member('action', type),
    timestamp: member('timestamp', timestamp),
  };
}

function absent(subject: string, type: string): StepOutcome {
  const differences = new Differences(ofTypes);
  differences.add('', type, '');
  return { status: 'missing', note: 'declared, not derived from the events', subject, differences };
}

function extra(subject: string, type: string): StepOutcome {
  const differences = new Differences(ofExtra);
  differences.add('', '', type);
  return { status: 'extra', note: 'derived from the events, not declared', subject, differences };
}

const extraEdge = (edge: GraphEdge): StepOutcome => extra(`edges[${edgeKey(edge)}]`, edge.type);

/** Ids contain no space, so the key is unambiguous. */
const endsKey = ({ source, target }: GraphEdge): string => `${source} ${target}`;

/**
 * A causal graph as an indented tree: each event below the event that caused it, else produced it, else contains it.
 * Actors and resources appear in the lines of their events. Only dot, mermaid and json show second causes, `feeds` and
 * `sequence`. Graphs are untrusted: cycles and chains of any length occur, so the code does not recurse.
 * Tested by `test/cli/commands/graphs/get.test.ts`.
 */
import type { GraphEdge, GraphNode } from '../../contract/graphs.ts';
import { Safe, safe } from './safe.ts';
import type { Styles } from './safe.ts';
import { cut, widthOf } from './width.ts';

export interface Graph {
  readonly runId: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** Least columns of an action, at any depth. */
const leastAction = 16;
/** Deeper children appear beside their parent. */
const deepest = 24;
const parties = new Set(['agent', 'human', 'tool', 'model', 'data']);
/** Types of edges that make the target a child, the strongest type first. */
const parentTypes = ['causes', 'produces', 'contains', 'delegates', 'approves'];

interface Shape {
  readonly nodes: ReadonlyMap<string, GraphNode>;
  readonly children: ReadonlyMap<string, readonly string[]>;
  readonly roots: readonly string[];
  readonly actors: ReadonlyMap<string, string>;
  readonly resources: ReadonlyMap<string, string>;
}

const nameOf = (node: GraphNode): string =>
  [node.data['name'], node.data['id']].find((each) => typeof each === 'string') ??
  node.id.replace(/^[a-z]+:/, '');

function shapeOf({ nodes, edges }: Graph): Shape {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const actors = new Map<string, string>();
  const resources = new Map<string, string>();
  const best = new Map<string, { parent: string; rank: number }>();
  for (const { source, target, type } of edges) {
    const [from, to] = [byId.get(source), byId.get(target)];
    if (from === undefined || to === undefined || source === target) continue;
    if (parties.has(from.type) && to.type === 'event') actors.set(target, nameOf(from));
    else if (from.type === 'event' && parties.has(to.type)) resources.set(source, nameOf(to));
    const rank = parentTypes.indexOf(type);
    if (rank < 0 || parties.has(from.type) || parties.has(to.type)) continue;
    if (rank < (best.get(target)?.rank ?? Infinity)) best.set(target, { parent: source, rank });
  }
  const children = new Map<string, string[]>();
  for (const [id, { parent }] of best) {
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [id]);
    else siblings.push(id);
  }
  const order = new Map(nodes.map((node, at) => [node.id, at]));
  for (const each of children.values())
    each.sort((one, other) => (order.get(one) ?? 0) - (order.get(other) ?? 0));
  const beside = new Set(edges.flatMap(({ source, target }) => [source, target]));
  const roots = nodes.filter(
    (node) => !best.has(node.id) && !(parties.has(node.type) && beside.has(node.id)),
  );
  return { nodes: byId, children, roots: roots.map(({ id }) => id), actors, resources };
}

function label(id: string, shape: Shape, { styles, room }: { styles: Styles; room: number }): Safe {
  const node = shape.nodes.get(id);
  if (node === undefined) return safe`${id}`;
  const { eventType, action, sequence } = node.data;
  if (node.type !== 'event') return safe`${styles.bold(node.type)} ${nameOf(node)}`;
  const actor = shape.actors.get(id);
  const resource = shape.resources.get(id);
  const parts = [
    styles.dim(typeof sequence === 'number' ? `#${sequence}` : id),
    styles.cyan(typeof eventType === 'string' ? eventType : 'event'),
    Safe.join(
      [safe`${actor ?? ''}`, resource === undefined ? safe`` : safe`→ ${resource}`].filter(isShown),
      ' ',
    ),
  ].filter(isShown);
  const head = Safe.join(parts, '  ');
  if (typeof action !== 'string') return head;
  return safe`${head}  ${cut(safe`${action}`, Math.max(leastAction, room - widthOf(head) - 2))}`;
}
const isShown = (text: Safe): boolean => String(text) !== '';

interface Visit {
  readonly id: string;
  readonly indent: string;
  readonly last: boolean;
  readonly depth: number;
}

/** One line for each node, except actors and resources of events; actions are cut to `width` columns. */
export function* treeLines(
  graph: Graph,
  { styles, width }: { styles: Styles; width: number },
): Generator<Safe, void, undefined> {
  const shape = shapeOf(graph);
  const seen = new Set<string>();
  // a cycle has no root, so each of its nodes may start a tree
  const starts = [...shape.roots, ...shape.children.keys()];
  for (const start of starts) {
    const stack: Visit[] = [{ id: start, indent: '', last: true, depth: 0 }];
    for (let visit = stack.pop(); visit !== undefined; visit = stack.pop()) {
      const { id, indent, last, depth } = visit;
      if (seen.has(id)) continue;
      seen.add(id);
      const branch = depth === 0 ? '' : last ? '└─ ' : '├─ ';
      const room = width - indent.length - branch.length;
      yield safe`${styles.dim(indent + branch)}${label(id, shape, { styles, room })}`;
      const below = depth === 0 ? '' : `${indent}${last ? '   ' : '│  '}`;
      const flat = depth >= deepest;
      const open = (shape.children.get(id) ?? []).filter((child) => !seen.has(child));
      for (const [at, child] of [...open.entries()].reverse()) {
        const isLast = at === open.length - 1;
        stack.push({
          id: child,
          indent: flat ? indent : below,
          last: isLast,
          depth: flat ? depth : depth + 1,
        });
      }
    }
  }
}

/** A DOT string: quotes and backslashes escaped, unsafe characters cleaned (Graphviz reads `\` sequences). */
const dotText = (text: string): Safe => Safe.cell(`"${String(Safe.cell(text)).replace(/["\\]/g, '\\$&')}"`);

const shapes: Readonly<Record<string, string>> = {
  run: 'folder',
  agent: 'component',
  human: 'house',
  tool: 'box3d',
  model: 'hexagon',
  data: 'cylinder',
  policy: 'note',
};

/** The type of an event and its action below; the name of another node. */
export const caption = (node: GraphNode): string => {
  const { eventType, action } = node.data;
  return typeof eventType === 'string'
    ? `${eventType}\n${typeof action === 'string' ? action : ''}`
    : nameOf(node);
};

/** Graphviz DOT. */
export function* dotLines({ runId, nodes, edges }: Graph): Generator<Safe, void, undefined> {
  yield safe`digraph ${dotText(runId)} {`;
  yield safe`  rankdir=LR; node [fontname="sans-serif", fontsize=10, shape=box, style=rounded];`;
  for (const node of nodes) {
    yield safe`  ${dotText(node.id)} [label=${dotLabel(caption(node))}, shape=${shapes[node.type] ?? 'box'}];`;
  }
  for (const { source, target, type } of edges) {
    yield safe`  ${dotText(source)} -> ${dotText(target)} [label=${dotText(type)}];`;
  }
  yield safe`}`;
}

/** As `dotText`, with the one line break of a caption as DOT's `\n`. */
const dotLabel = (text: string): Safe => {
  const lines = text.split('\n').map((line) => String(dotText(line)).slice(1, -1));
  return Safe.cell(`"${lines.join('\\n')}"`);
};

/** Mermaid reads HTML entities in quoted labels; no other escape is needed. */
const mermaidText = (text: string): Safe =>
  Safe.cell(`"${String(Safe.cell(text)).replace(/["#&<>\\`]/g, (each) => `#${each.charCodeAt(0)};`)}"`);

/** A Mermaid flow chart. Nodes get numbers, because their ids are not valid in Mermaid. */
export function* mermaidLines({ nodes, edges }: Graph): Generator<Safe, void, undefined> {
  const numbers = new Map(nodes.map((node, at) => [node.id, `n${at}`]));
  yield safe`flowchart LR`;
  for (const node of nodes) {
    yield safe`  ${numbers.get(node.id) ?? ''}[${mermaidText(caption(node).replace('\n', ': '))}]`;
  }
  for (const { source, target, type } of edges) {
    const [from, to] = [numbers.get(source), numbers.get(target)];
    if (from !== undefined && to !== undefined) yield safe`  ${from} -->|${mermaidText(type)}| ${to}`;
  }
}

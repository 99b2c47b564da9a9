/**
 * Prints a graph in any format, for `graphs get` and `graphs lineage`.
 * Tested by `test/cli/commands/graphs/get.test.ts`.
 */
import type { Out } from './out.ts';
import { Safe } from './safe.ts';
import { csvLine, tabbed } from './table.ts';
import { caption, dotLines, mermaidLines, treeLines } from './tree.ts';
import type { Graph } from './tree.ts';
import { plainView } from './view.ts';

/** Lines in one write: few enough to need little memory, many enough to be fast. */
const chunk = 500;

async function printLines(out: Out, lines: Iterable<Safe>): Promise<void> {
  let waiting: Safe[] = [];
  for (const line of lines) {
    waiting.push(line);
    if (waiting.length < chunk) continue;
    await out.lines(waiting);
    waiting = [];
  }
  await out.lines(waiting);
}

const { columns } = plainView(['kind', 'id', 'type', 'target', 'name']);

/** A node has no target and an edge no name: one form of row, so that a script can tell them apart by the first word. */
function* rowsOf({ nodes, edges }: Graph): Generator<Readonly<Record<string, unknown>>, void, undefined> {
  for (const node of nodes) {
    const name = caption(node).trimEnd().replace('\n', ': ');
    yield { kind: 'node', id: node.id, type: node.type, name };
  }
  for (const { source, type, target } of edges) yield { kind: 'edge', id: source, type, target };
}

function* rowLines(graph: Graph, format: string): Generator<Safe, void, undefined> {
  if (format === 'csv') yield csvLine(columns.map(({ name }) => name));
  for (const row of rowsOf(graph)) {
    if (format === 'csv') yield csvLine(columns.map(({ name }) => row[name]));
    else yield tabbed(columns, row);
  }
}

/** `whole`: the unchanged response, for JSON and YAML. */
export async function printGraph(out: Out, graph: Graph, whole: unknown): Promise<void> {
  switch (out.format) {
    case 'json':
    case 'yaml':
      return out.one(whole, plainView([]));
    case 'ndjson':
      for (const node of graph.nodes) await out.json({ kind: 'node', ...node }, 0);
      for (const edge of graph.edges) await out.json({ kind: 'edge', ...edge }, 0);
      return;
    case 'id':
      return printLines(
        out,
        graph.nodes.map(({ id }) => Safe.cell(id)),
      );
    case 'dot':
      return printLines(out, dotLines(graph));
    case 'mermaid':
      return printLines(out, mermaidLines(graph));
    case 'table':
    case 'wide':
      return printLines(out, treeLines(graph, { styles: out.styles, width: treeWidth(out) }));
    default:
      return printLines(out, rowLines(graph, out.format));
  }
}

const treeWidth = ({ settings, format }: Out): number =>
  settings.tty && format === 'table' ? settings.columns : Infinity;

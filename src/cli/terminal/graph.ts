/**
 * Prints a graph in any format, for `graphs get` and `graphs lineage`.
 * Tested by `test/cli/commands/graphs/get.test.ts`.
 */
import type { Out } from './out.ts';
import { Safe } from './safe.ts';
import { csvLine, tabbed } from './table.ts';
import { dotLines, mermaidLines, treeLines } from './tree.ts';
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

const edgeColumns = plainView(['source', 'type', 'target']).columns;

function* edgeLines({ edges }: Graph, format: string): Generator<Safe, void, undefined> {
  if (format === 'csv') yield csvLine(edgeColumns.map(({ name }) => name));
  for (const edge of edges) {
    const row: Record<string, unknown> = { ...edge };
    if (format === 'csv') yield csvLine(edgeColumns.map(({ name }) => row[name]));
    else yield tabbed(edgeColumns, row);
  }
}

/** `whole`: the unchanged response, for JSON and YAML. */
export async function printGraph(out: Out, graph: Graph, whole: unknown): Promise<void> {
  switch (out.format) {
    case 'json':
    case 'yaml':
      return out.one(whole, edgeView);
    case 'ndjson':
      for (const edge of graph.edges) await out.json(edge, 0);
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
      return printLines(out, edgeLines(graph, out.format));
  }
}
const edgeView = plainView([]);

const treeWidth = ({ settings, format }: Out): number =>
  settings.tty && format === 'table' ? settings.columns : Infinity;

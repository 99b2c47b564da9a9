/** Items of a graph from the rows of a store. */
import type { BundleEdge } from '../../../src/core/proofs/bundle.ts';
import { NodePositions, readEdgeRow, readNodeRow } from '../../../src/core/graphs/rows.ts';

export function graphItems({ nodes: nodeRows, edges }: Record<'nodes' | 'edges', readonly string[]>) {
  const nodes = nodeRows.map((row) => readNodeRow(row)!);
  const positions = new NodePositions();
  for (const node of nodes) positions.add(node);
  const between = edges.map((row): BundleEdge => {
    const { source, target, type } = readEdgeRow(row)!;
    return [positions.of(source)!, positions.of(target)!, type];
  });
  return { nodes, edges: between };
}

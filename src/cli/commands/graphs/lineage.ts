/** `gov graphs lineage RUN [--node NODE]`. Tested by `test/cli/commands/graphs/get.test.ts`. */
import type { Run } from '../../context/command.ts';
import { printGraph } from '../../terminal/graph.ts';
import { safe } from '../../terminal/safe.ts';
import type { graphsLineage as spec } from '../../specs/prove/graphs.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, session }) => {
  const client = await session.client();
  const { body } = await client.getLineage({ params: { runId: args.runId }, query: { nodeId: flags.node } });
  await printGraph(out, body, body);
  if (out.isHuman) await out.note(safe`${body.nodes.length} nodes, ${body.edges.length} edges`);
  if (body.truncated === true)
    await out.warn(safe`the lineage is larger than one response: this output leaves out the rest`);
};

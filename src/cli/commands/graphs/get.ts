/** `gov graphs get RUN`. Tested by `test/cli/commands/graphs/get.test.ts`. */
import type { Run } from '../../context/command.ts';
import { printGraph } from '../../terminal/graph.ts';
import { safe } from '../../terminal/safe.ts';
import type { graphsGet as spec } from '../../specs/prove/graphs.ts';

export const run: Run<typeof spec> = async ({ args, out, session }) => {
  const client = await session.client();
  const { body } = await client.getGraph({ params: { runId: args.runId } });
  await printGraph(out, body, body);
  if (!out.isHuman) return;
  const seal = body.rootHash === null ? 'not sealed' : `sealed as ${body.rootHash}`;
  await out.note(safe`${body.nodes.length} nodes, ${body.edges.length} edges, ${seal}`);
  if (body.truncated === true)
    await out.warn(safe`the graph is larger than one response: this output leaves out the rest`);
};

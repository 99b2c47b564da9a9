/** `gov graphs get RUN`. */
import type { Run } from '../command.ts';
import { printGraph } from '../graphoutput.ts';
import { safe } from '../safe.ts';
import type { graphsGet as spec } from '../specs/graphs.ts';

export const run: Run<typeof spec> = async ({ args, out, session }) => {
  const client = await session.client();
  const { body } = await client.getGraph({ params: { runId: args.runId } });
  await printGraph(out, body, body);
  if (!out.isHuman) return;
  const seal = body.rootHash === null ? 'not sealed' : `sealed as ${body.rootHash}`;
  await out.note(safe`${body.nodes.length} nodes, ${body.edges.length} edges, ${seal}`);
  if (body.truncated === true)
    await out.warn(safe`the graph is larger than one answer: the rest is left out`);
};

/** Commands of the noun graphs, as data. Tested by `test/cli/commands/graphs/get.test.ts`. */
import { command, flag } from '../../program/spec.ts';

const runId = { name: 'runId', description: 'Run' } as const;
const formats = ['dot', 'mermaid'] as const;

export const graphsGet = command({
  name: 'graphs get',
  prints: '=getGraph',
  summary: 'Show the causal graph of a run',
  details: [
    'On a terminal: a tree, in which containers and causes are above their effects. Into a pipe: one node or edge per line, as the first word says.',
  ],
  args: [runId],
  formats,
  examples: ['gov graphs get checkout-42', 'gov graphs get checkout-42 -o dot | dot -Tsvg > run.svg'],
});

export const graphsLineage = command({
  name: 'graphs lineage',
  prints: '=getLineage',
  summary: 'Show the ancestors and descendants of a node',
  args: [runId],
  flags: {
    node: flag.text('NODE', 'Node whose ancestors and descendants to show; default: all nodes'),
  },
  formats,
  examples: ['gov graphs lineage checkout-42 --node evt_01jq3v5k8hf7wb3c9x2m4n6p8r'],
});

/** Hand-made commands of the noun graphs, as data. */
import { command } from '../../program/command.ts';

const runId = { name: 'runId', description: 'Run' } as const;
const formats = ['dot', 'mermaid'] as const;

export const graphsGet = command({
  name: 'graphs get',
  summary: 'Show the causal graph of a run',
  details: [
    'On a terminal: a tree, indented by what contains or causes what. Into a pipe: one edge per line.',
  ],
  args: [runId],
  formats,
  examples: ['gov graphs get checkout-42', 'gov graphs get checkout-42 -o dot | dot -Tsvg > run.svg'],
});

export const graphsLineage = command({
  name: 'graphs lineage',
  summary: 'Show what led to a node and what followed from it',
  args: [runId],
  flags: {
    node: {
      type: 'string',
      value: 'NODE',
      description: 'Node whose ancestors and descendants are shown; default all',
    },
  },
  formats,
  examples: ['gov graphs lineage checkout-42 --node evt_01jq3v5k8hf7wb3c9x2m4n6p8r'],
});

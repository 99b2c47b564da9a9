/** Hand-made commands of the noun replay, as data. */
import { driftSeverities } from '../../../contract/replay-words.ts';
import { command } from '../../program/command.ts';
import type { FlagSpec } from '../../program/command.ts';

const wait = {
  type: 'boolean',
  description: 'Wait for the result, at most --timeout; default: answer with the job at once',
} as const satisfies FlagSpec;
const failOn = {
  type: 'strings',
  separator: ',',
  choices: ['mismatch', 'drift', ...driftSeverities.map((severity) => `drift=${severity}`)],
  value: 'WHAT',
  description:
    'Wait, and exit with 3 where a step does not match, or where anything drifted, of this severity or a graver one',
} as const satisfies FlagSpec;
const exitCodes = {
  1: 'the job failed',
  3: 'there is what --fail-on names',
  8: 'the job was not done within --timeout; it goes on',
} as const;

export const replayRun = command({
  name: 'replay run',
  summary: 'Verify the recorded decisions of a run again',
  changes: true,
  details: [
    'Policies, risk scores and what else was recorded with its inputs is decided again with the versions recorded then, and compared step by step. No model and no tool is run again.',
  ],
  flags: {
    run: { type: 'string', value: 'RUN', required: true, description: 'The run' },
    snapshot: {
      type: 'string',
      value: 'FILE',
      description:
        'JSON with policyHash, modelRoute, toolRegistryHash and configStateHash to hold the run against',
    },
    against: { type: 'string', value: 'RUN', description: 'Another run, whose steps are the expectation' },
    wait,
    failOn,
  },
  examples: [
    'gov replay run --run checkout-42 --wait',
    'gov replay run --run checkout-43 --against checkout-42 --fail-on drift=high',
  ],
  exitCodes,
});

export const replayGraph = command({
  name: 'replay graph',
  summary: 'Compare a declared causal graph with the one that the events give',
  changes: true,
  args: [{ name: 'file', description: 'JSON file with runId, nodes and edges, or - for standard input' }],
  flags: { wait, failOn },
  examples: [
    'gov replay graph graph.json --wait',
    'gov graphs get checkout-42 -o json | gov replay graph - --fail-on drift',
  ],
  exitCodes,
});

export const replayGet = command({
  name: 'replay get',
  summary: 'Get the result of a completed replay',
  args: [{ name: 'replayId', description: 'Replay, such as rpl_…' }],
  examples: ['gov replay get rpl_01jq3v5k8hf7wb3c9x2m4n6p8r'],
});

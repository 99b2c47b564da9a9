/** Commands of the noun replay, as data. Tested by `test/cli/commands/replay/run.test.ts`. */
import { driftSeverities } from '../../../contract/replay-words.ts';
import { command, flag } from '../../program/spec.ts';
import { reportFlags, reportFormats } from '../../ci/flags.ts';

const wait = flag.on('Wait for the result, at most --timeout; default: return the job at once');
const failOn = flag.list(
  'WHAT',
  'Wait, and exit with 3 if a step does not match, or for drift of this severity or a higher one',
  {
    separator: ',',
    choices: ['mismatch', 'drift', ...driftSeverities.map((severity) => `drift=${severity}`)],
  },
);
const exitCodes = {
  1: 'the job failed',
  3: 'a mismatch or drift that --fail-on names, or --fail-on drift where no snapshot was compared',
  8: 'the job did not end within --timeout; it continues',
} as const;

export const replayRun = command({
  name: 'replay run',
  prints: '=getReplay|createReplay',
  summary: 'Repeat the recorded decisions of a run and compare them',
  changes: true,
  details: [
    'gov repeats policy and risk decisions from their recorded inputs with the recorded versions, and compares each step. It runs no model and no tool.',
  ],
  flags: {
    run: flag.text('RUN', 'The run', { required: true }),
    snapshot: flag.text(
      'FILE',
      'JSON with policyHash, modelRoute, toolRegistryHash and configStateHash to compare the run with',
    ),
    against: flag.text('RUN', 'Another run with the expected steps'),
    wait,
    failOn,
    ...reportFlags,
  },
  formats: reportFormats,
  examples: [
    'gov replay run --run checkout-42 --wait',
    'gov replay run --run checkout-43 --against checkout-42 --fail-on drift=high',
  ],
  exitCodes,
});

export const replayGraph = command({
  name: 'replay graph',
  prints: '=getReplay|createGraphReplay',
  summary: 'Compare a declared causal graph with the graph of the events',
  changes: true,
  args: [{ name: 'file', description: 'JSON file with runId, nodes and edges, or - for standard input' }],
  flags: { wait, failOn, ...reportFlags },
  formats: reportFormats,
  examples: [
    'gov replay graph graph.json --wait',
    'gov graphs get checkout-42 -o json | gov replay graph - --fail-on drift',
  ],
  exitCodes,
});

export const replayGet = command({
  name: 'replay get',
  prints: '=getReplay',
  summary: 'Get the result of a completed replay',
  args: [{ name: 'replayId', description: 'Replay, such as rpl_…' }],
  examples: ['gov replay get rpl_01jq3v5k8hf7wb3c9x2m4n6p8r'],
});

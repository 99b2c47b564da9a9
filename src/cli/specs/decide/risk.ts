/** Commands of the noun risk, as data. Tested by `test/cli/commands/policy/create.test.ts`. */
import { riskActions } from '../../../contract/risk-words.ts';
import { command, flag } from '../../program/spec.ts';

const configFile = { name: 'file', description: 'JSON file, or - for standard input' } as const;

export const riskEvaluate = command({
  name: 'risk evaluate',
  prints: '=evaluateRisk',
  summary: 'Score an input of a run, record it, and route it: allow, flag, escalate or block',
  changes: true,
  details: [
    'The file has the members of the API: runId, policyDecisions, quotaState, evaluationSignals, explicitSignals. Flags add to it.',
  ],
  args: [{ ...configFile, optional: true }],
  flags: {
    run: flag.text('RUN', 'The run, if the file does not name it'),
    signal: flag.list('NAME=NUMBER', 'Evaluation signal, such as pii=0.8; repeatable'),
    failOn: flag.list('ACTION', 'Exit with 3 if the action is this one or stricter', {
      separator: ',',
      choices: riskActions,
    }),
  },
  examples: [
    'gov risk evaluate --run checkout-42 --signal prompt_injection=0.7 --fail-on block',
    'gov risk evaluate moment.json -o json',
  ],
  exitCodes: { 3: 'the action is at least as strict as --fail-on' },
});

export const riskConfigSet = command({
  name: 'risk config set',
  prints: '=putRiskConfig',
  summary: 'Replace the configuration of the risk router',
  changes: true,
  args: [configFile],
  examples: ['gov risk config set risk.json', 'gov risk config get -o json | gov risk config set -'],
});

export const riskConfigDiff = command({
  name: 'risk config diff',
  prints: 'changed:boolean changes:array',
  summary: 'Show what a file would change in the configuration of the risk router',
  args: [configFile],
  flags: {
    failOn: flag.text('WHAT', 'Exit with 3 on a difference', { choices: ['changed'] }),
  },
  examples: ['gov risk config diff risk.json --fail-on changed'],
  exitCodes: { 3: 'there is a difference, with --fail-on changed' },
});

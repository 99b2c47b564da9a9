/** Hand-made commands of the noun tools, as data. */
import { policyActions } from '../../../contract/policy-words.ts';
import { command } from '../../program/command.ts';
import type { FlagSpec } from '../../program/command.ts';

const server = {
  type: 'string',
  value: 'NAME',
  description: 'MCP server of the tool',
} as const satisfies FlagSpec;
const callContext = {
  type: 'json',
  value: 'JSON|@FILE',
  description: 'What policies see beside tool, arguments, actor and runId',
} as const satisfies FlagSpec;
const policy = {
  type: 'strings',
  separator: ',',
  value: 'ID',
  description: 'Ask these policies; default all that are active',
} as const satisfies FlagSpec;

export const toolsEvaluate = command({
  name: 'tools evaluate',
  summary: 'Decide whether a tool call may run, and record it',
  changes: { without: 'dryRun' },
  details: [
    'The call comes from a JSON file in the form of the interface ({tool: {name}, arguments, runId, actor, context}), from flags, or from both.',
  ],
  args: [{ name: 'file', description: 'JSON file, or - for standard input', optional: true }],
  flags: {
    tool: { type: 'string', value: 'NAME', description: 'Name of the tool' },
    server,
    arguments: { type: 'json', value: 'JSON|@FILE', description: 'Arguments of the call, an object' },
    run: { type: 'string', value: 'RUN', description: 'Run that the call belongs to' },
    actor: { type: 'string', value: 'NAME', description: 'Who calls' },
    callContext,
    policy,
    dryRun: { type: 'boolean', description: 'Decide, record nothing' },
    failOn: {
      type: 'strings',
      separator: ',',
      choices: policyActions,
      value: 'DECISION',
      description: 'Exit with 3 where the decision is this one or a stricter one',
    },
  },
  examples: [
    'gov tools evaluate --tool refund --arguments \'{"amount": 250}\' --run checkout-42 --fail-on escalate',
    'gov tools evaluate call.json --dry-run -o json',
  ],
  exitCodes: { 3: 'the decision is at least as strict as --fail-on' },
});

export const toolsExec = command({
  name: 'tools exec',
  summary: 'Run a command only if the policies allow it, and record call and outcome',
  changes: true,
  details: [
    'Policies see it as a tool call with the arguments {"command": …, "args": […]}. The command is started directly, never by a shell. It has our standard streams; signals go on to it, and its exit code is ours.',
    'Without a decision, or where the call cannot be recorded, nothing runs.',
  ],
  args: [{ name: 'command', description: 'The command and its arguments, after --', variadic: true }],
  flags: {
    tool: {
      type: 'string',
      value: 'NAME',
      required: true,
      description: 'Name that policies know the tool by',
    },
    run: { type: 'string', value: 'RUN', required: true, description: 'Run that the call belongs to' },
    actor: { type: 'string', value: 'NAME', description: 'Who calls; default gov tools exec' },
    server,
    callContext,
    policy,
    waitApproval: {
      type: 'duration',
      value: 'TIME',
      description: 'Where a policy escalates, wait this long for a person; default: refuse at once',
    },
  },
  ownsSignals: true,
  examples: [
    'gov tools exec --tool psql --run nightly-7 -- psql -c "VACUUM"',
    'gov tools exec --tool deploy --run release-9 --wait-approval 15m -- ./deploy.sh production',
  ],
  exitCodes: {
    3: 'refused: nothing ran (or the exit code of the command)',
    126: 'the command could not be started',
    127: 'the command was not found',
  },
});

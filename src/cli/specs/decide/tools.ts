/** Commands of the noun tools, as data. Tested by `test/cli/commands/tools/exec.test.ts`. */
import { policyActions } from '../../../contract/policy-words.ts';
import { command, flag } from '../../program/spec.ts';

const server = flag.text('NAME', 'MCP server of the tool');
const callContext = flag.json(
  'JSON|@FILE',
  'Further input of policies, besides tool, arguments, actor and runId',
);
const policy = flag.list('ID', 'Evaluate these policies; default: all active ones', { separator: ',' });

export const toolsEvaluate = command({
  name: 'tools evaluate',
  prints: '=evaluateTool',
  summary: 'Decide whether a tool call may run, and record the decision',
  changes: { without: 'dryRun' },
  details: [
    'The call comes from a JSON file in the form of the API ({tool: {name}, arguments, runId, actor, context}), from flags, or from both.',
  ],
  args: [{ name: 'file', description: 'JSON file, or - for standard input', optional: true }],
  flags: {
    tool: flag.text('NAME', 'Name of the tool'),
    server,
    arguments: flag.json('JSON|@FILE', 'Arguments of the call, an object'),
    run: flag.text('RUN', 'Run of the call'),
    actor: flag.text('NAME', 'Name of the caller'),
    callContext,
    policy,
    dryRun: flag.on('Decide, and record nothing'),
    failOn: flag.list('DECISION', 'Exit with 3 if the decision is this one or stricter', {
      separator: ',',
      choices: policyActions,
    }),
  },
  examples: [
    'gov tools evaluate --tool refund --arguments \'{"amount": 250}\' --run checkout-42 --fail-on escalate',
    'gov tools evaluate call.json --dry-run -o json',
  ],
  exitCodes: { 3: 'the decision is at least as strict as --fail-on' },
});

export const toolsExec = command({
  name: 'tools exec',
  prints: 'none',
  summary: 'Run a command only if the policies allow it, and record call and outcome',
  changes: true,
  details: [
    'Policies see a tool call with the arguments {"command": …, "args": […]}. gov starts the command directly, without a shell, on its own standard streams. It forwards signals and returns the exit code of the command.',
    'Without a decision, or if the call cannot be recorded, gov does not run the command.',
    'After a person approved an escalated call, run the same command again: it runs once. The approval is bound to the run, the command with its arguments, and the policies; not to the working folder, nor to what is in the program. So name programs and files by absolute paths where that matters.',
  ],
  args: [{ name: 'command', description: 'The command and its arguments, after --', variadic: true }],
  flags: {
    tool: flag.text('NAME', 'Name of the tool in policies', { required: true }),
    run: flag.text('RUN', 'Run of the call', { required: true }),
    actor: flag.text('NAME', 'Name of the caller; default: gov tools exec'),
    server,
    callContext,
    policy,
    approval: flag.text(
      'ID',
      'Run only by this approval of the same call; default: the newest one that can be used',
    ),
    waitApproval: flag.duration(
      'TIME',
      'After an escalation, wait this long for a person; default: refuse at once',
    ),
  },
  ownsSignals: true,
  examples: [
    'gov tools exec --tool psql --run nightly-7 -- psql -c "VACUUM"',
    'gov tools exec --tool deploy --run release-9 --wait-approval 15m -- ./deploy.sh production',
    'gov tools exec --tool deploy --run release-9 --approval apr_01jq3v5k8hf7wb3c9x2m4n6p8r -- ./deploy.sh production',
  ],
  exitCodes: {
    3: 'refused: the command did not run (or the exit code of the command)',
    126: 'the command could not be started',
    127: 'the command was not found',
  },
});

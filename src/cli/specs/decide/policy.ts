/**
 * Commands of the noun policy, as data. Tested by `test/cli/commands/policy/create.test.ts` and the other files of its folder.
 */
import { limits } from '../../../contract/limits.ts';
import { nameMembers, policyActions, policyStatuses } from '../../../contract/policy-words.ts';
import { agentClients } from '../../../core/agents/clients.ts';
import { command, flag } from '../../program/spec.ts';
import { trusted } from '../../program/trusted.ts';
import { reportFlags, reportFormats } from '../../ci/flags.ts';

const policyId = { name: 'policyId', description: 'Policy' } as const;
const files = {
  name: 'file',
  description: 'Policy files (*.policy, *.json), directories of them, or - for standard input',
  variadic: true,
} as const;
const checkpoint = flag.text(
  'FILE',
  'JSON file with the input to decide: {step?, context}, or the context itself; - for stdin',
  { required: true },
);
const policyFlag = flag.list('ID', 'Evaluate these policies; default: all active ones', { separator: ',' });
const failOn = flag.list('DECISION', 'Exit with 3 if the combined decision is this one or stricter', {
  separator: ',',
  choices: policyActions,
});
const reason = flag.text('TEXT', 'Reason; stored in the audit trail', { maxLength: limits.reasonChars });
const failed = { 3: 'the combined decision is at least as strict as --fail-on' } as const;

const fileForm = `A *.policy file reads: deny "no-shell" high (escalate "refunds" high signed: only a signature approves; deny "x" unknown escalate: what it decides where its condition cannot be decided), then optional lines ${nameMembers.map((word) => `${word} "…"`).join(' and ')}, then when and the condition in the text syntax. A *.json file has policyId, ${nameMembers.join(', ')}, condition (JSON, or a string in the text syntax), action, severity, requireSignedApproval and onIndeterminate.`;

export const policyCreate = command({
  name: 'policy create',
  prints: 'data[] policyId did version:integer status activeVersion:integer|null file',
  summary: 'Create policies from files, or add a version if an existing policy differs',
  changes: true,
  details: [
    fileForm,
    'A policy equal to its newest version stays unchanged, so you can repeat the command. gov reads all files before it writes the first policy.',
  ],
  args: [files],
  flags: {
    publish: flag.on('Activate the newest version of each policy'),
    reason,
  },
  examples: [
    'gov policy create policies/',
    'gov policy create no-shell.policy --publish --reason "runbook 4"',
  ],
});

export const policyGet = command({
  name: 'policy get',
  prints: '=getPolicy',
  summary: 'Get a policy with its active and its newest version',
  details: ['-o policy prints the file that policy create reads.'],
  args: [policyId],
  flags: {
    version: flag.integer('N', 'Print this version with -o policy; default: the newest', { minimum: 1 }),
  },
  formats: ['policy'],
  examples: ['gov policy get no-shell', 'gov policy get no-shell -o policy > no-shell.policy'],
});

export const policyPublish = command({
  name: 'policy publish',
  prints: '=publishPolicy',
  summary: 'Activate a version of a policy, by default the newest',
  changes: true,
  args: [policyId],
  flags: {
    version: flag.integer('N', 'Version; default: the newest', { minimum: 1 }),
    reason,
  },
  examples: ['gov policy publish no-shell', 'gov policy publish no-shell --version 2'],
  exitCodes: { 6: 'its status does not allow it' },
});

export const policyTransition = command({
  name: 'policy transition',
  prints: '=transitionPolicy',
  summary: 'Move a policy to another status of its life cycle',
  changes: true,
  details: [
    'From draft: review, active, archived. From review: draft, active, archived. From active: disabled, archived. From disabled: active, archived. From archived: draft.',
  ],
  args: [policyId],
  flags: {
    to: flag.text('STATUS', 'Status', { choices: policyStatuses, required: true }),
    reason,
  },
  examples: ['gov policy transition no-shell --to disabled --reason "false alarms"'],
  exitCodes: { 6: 'its status does not allow it' },
});

export const policyRollback = command({
  name: 'policy rollback',
  prints: '=rollbackPolicy',
  summary: 'Activate an earlier version of a policy again',
  changes: true,
  args: [policyId],
  flags: {
    toVersion: flag.integer('N', 'Version', { minimum: 1, required: true }),
    reason,
  },
  examples: ['gov policy rollback no-shell --to-version 1 --reason "version 2 denied too much"'],
  exitCodes: { 6: 'its status does not allow it' },
});

export const policyEvaluate = command({
  name: 'policy evaluate',
  prints: '=evaluatePolicy',
  summary: 'Evaluate the active policies for an input of a run, and record the decision',
  changes: true,
  flags: {
    run: flag.text('RUN', 'The run', { required: true }),
    checkpoint,
    policy: policyFlag,
    failOn,
  },
  examples: [
    'gov policy evaluate --run checkout-42 --checkpoint moment.json --fail-on escalate',
    'jq -c .call log.json | gov policy evaluate --run checkout-42 --checkpoint - -o json',
  ],
  exitCodes: failed,
});

export const policySimulate = command({
  name: 'policy simulate',
  prints: '=simulatePolicies|simulatePolicy',
  summary: 'Show what policies would decide and which clause decides it, without recording',
  details: ['With a policy, evaluates its newest version; without one, all active policies.'],
  args: [{ ...policyId, optional: true }],
  flags: {
    checkpoint,
    policy: policyFlag,
    explain: flag.on(
      'Show every clause with the values it read, and the nearest change with another decision',
    ),
    failOn,
  },
  examples: [
    'gov policy simulate --checkpoint moment.json',
    'gov policy simulate no-shell --checkpoint moment.json --explain',
  ],
  exitCodes: failed,
});

export const policyExplain = command({
  name: 'policy explain',
  prints: 'action:object actionHash combined decisions:array',
  summary: 'Show the canonical action of a call, and what policies decide about it',
  details: [
    'The call is a command line (--command) of a client, or a tool with arguments. Facts are those of this machine and folder, as a hook sends them. Nothing runs, and nothing is recorded.',
    'With files, their policies decide, offline. Without files, the active policies of the plane decide.',
  ],
  args: [{ ...files, optional: true }],
  flags: {
    command: flag.text('LINE', 'Command line, as the client gives it to its shell'),
    client: flag.text('NAME', 'The client; default: claude-code', { choices: agentClients }),
    tool: flag.text('NAME', 'Name of the tool; default: the shell of the client'),
    server: flag.text('NAME', 'MCP server of the tool'),
    arguments: flag.json('JSON|@FILE', 'Arguments of the tool, an object'),
    cwd: flag.text('DIR', 'Folder that the call starts in; default: the current one'),
  },
  examples: [
    "gov policy explain --command 'cd .. && rm -rf build' --client codex",
    'gov policy explain policies/ --tool Write --arguments \'{"file_path": "/etc/hosts"}\'',
  ],
});

export const policyLint = command({
  name: 'policy lint',
  prints: 'findings:array',
  summary: 'Find errors in policy files: clauses that never match, missing guards, conflicting types',
  details: ['Works offline; only --seen with a run asks the service.'],
  args: [files],
  flags: {
    seen: flag.text(
      'RUN|FILE',
      'Recorded inputs of a run or a file: also report paths that none of them has',
    ),
    failOn: {
      type: 'string',
      // from the mildest to the most severe
      choices: ['info', 'warning', 'error'],
      value: 'SEVERITY',
      description: 'Exit with 3 on findings of this severity or a higher one; default: error',
    },
    ...reportFlags,
  },
  formats: reportFormats,
  examples: [
    'gov policy lint policies/',
    'gov policy lint no-shell.policy --seen checkout-42 --fail-on warning',
    'gov policy lint policies/ --report lint.sarif --annotate',
  ],
  exitCodes: { 3: 'there is a finding of the severity of --fail-on, or a higher one' },
});

export const policyTest = command({
  name: 'policy test',
  prints: 'passed:integer failed:integer coverage:number cases:array policies:array mutants:array|null',
  summary: 'Run test cases against policy files, without a service, and show what they do not test',
  details: [
    'Cases are JSON: [{"name": "…", "checkpoint": {…}, "expect": "deny"}]. expect is the combined decision, or decisions by policy id: {"no-shell": "deny"}. In a directory, cases are the files that end in .cases.json or .cases.ndjson.',
    'A clause is covered after one case has seen it true and one false. A mutant is the condition with one small change. If no case notices a mutant, no case would notice that mistake.',
  ],
  args: [files],
  flags: {
    cases: flag.list('FILE', 'Cases; repeatable', { required: true }),
    minCoverage: flag.text('SHARE', 'Exit with 3 below this share of covered clauses, such as 80%'),
    mutants: flag.on('Try mutants, and show those that no case notices'),
    ...reportFlags,
  },
  formats: reportFormats,
  examples: [
    'gov policy test policies/ --cases policies/',
    'gov policy test no-shell.policy --cases no-shell.cases.json --min-coverage 90% --mutants',
    'gov policy test policies/ --cases policies/ --report policies.xml',
  ],
  exitCodes: { 0: 'all cases passed', 3: 'a case failed, or the coverage is too low' },
});

export const policyDiff = command({
  name: 'policy diff',
  prints: 'policyId from:integer|null to:integer|string changed:boolean lines:array',
  summary: 'Show the differences between two versions, or between the newest version and a file, by clause',
  details: ['Without versions: compares the active version with the newest.'],
  args: [
    { name: 'policy', description: 'Policy, or a policy file or directory' },
    { name: 'from', description: 'Version', optional: true },
    { name: 'to', description: 'Version; default: the newest', optional: true },
  ],
  flags: {
    failOn: flag.text('WHAT', 'Exit with 3 on a difference', { choices: ['changed'] }),
  },
  examples: ['gov policy diff no-shell 1 2', 'gov policy diff policies/ --fail-on changed'],
  exitCodes: { 3: 'there is a difference, with --fail-on changed' },
});

export const policyImpact = command({
  name: 'policy impact',
  prints: '=analyzePolicyImpact|analyzePolicyHistory',
  summary: 'Show which decisions a proposed version would change, on samples or recorded decisions',
  details: [
    '--samples takes at most 50 checkpoints of a file. Without it, gov uses recorded decisions, of a period with --since or --until. A loosened decision is a call that would have passed.',
  ],
  args: [{ ...policyId, optional: true }],
  flags: {
    proposed: flag.text('FILE', 'Policy file with the proposed version; its id is the default policy', {
      required: true,
    }),
    samples: flag.text('FILE', 'Checkpoints: a JSON array, NDJSON, or a directory'),
    since: flag.time('TIME', 'Decisions from this time on, such as 30d'),
    until: flag.time('TIME', 'Decisions up to this time'),
    maxChange: flag.text('SHARE', 'Exit with 3 if a larger share changes, such as 5%'),
    failOn: flag.list('WHAT', 'Exit with 3 if a decision gets looser, stricter, or either', {
      separator: ',',
      choices: ['loosened', 'tightened', 'changed'],
    }),
    ...reportFlags,
  },
  formats: reportFormats,
  examples: [
    'gov policy impact --proposed no-shell.policy --since 30d --fail-on loosened',
    'gov policy impact no-shell --proposed looser.policy --samples moments.json --max-change 5%',
  ],
  exitCodes: { 3: 'more changed than --max-change, or a change that --fail-on names' },
});

export const policyStarterList = command({
  name: 'policy starter list',
  prints: 'starters:array',
  summary: 'List starter policies: what most agents with tools need first',
  examples: ['gov policy starter list'],
});

export const policyStarterAdd = command({
  name: 'policy starter add',
  prints: 'files:array',
  summary: 'Write starter policies and their test cases into a folder',
  details: [
    'It replaces no file. Change the names of tools and arguments to yours, then test the folder: gov policy test policies --cases policies --mutants.',
  ],
  args: [{ name: 'starter', description: 'Starter policy (gov policy starter list)', variadic: true }],
  flags: {
    to: flag.text('DIR', 'Folder to write into', { required: true }),
  },
  examples: [
    'gov policy starter add no-delete-outside no-secrets --to policies',
    'gov policy starter add spending-limit --to policies',
  ],
});

export const policyVerify = command({
  name: 'policy verify',
  prints:
    'verified:boolean code:string|null detail:string|null policyId version:integer policyHash policySetHash evaluations:integer|null firstEvaluatedAt:string|null lastEvaluatedAt:string|null trustedOrigin:string|null signatures:array notes:array',
  summary: 'Verify without the service that a version of a policy was in force',
  details: [
    'PROOF is the JSON of gov policy in-force. gov computes the hash of the policy in --policy, follows the proof to the hash of the set of all policies in force, and looks for evaluations that name this set. Their file is an export of policy_evaluations with --proof, which gov verifies with the trusted keys: from --key, --trust or the trust file of the chosen context.',
    'A verified policy was in force at each of these evaluations. Nothing is said about times between them, or about the other policies.',
  ],
  args: [{ name: 'proof', description: 'File with the JSON of gov policy in-force' }],
  flags: {
    policy: flag.text('FILE', 'The policy: *.policy or *.json', { required: true }),
    evaluations: flag.text('FILE', 'Export of policy_evaluations as JSON, with proof', { required: true }),
    ...trusted,
  },
  examples: [
    'gov policy verify inforce.json --policy no-shell.policy --evaluations evaluations.json',
    'gov policy verify inforce.json --policy no-shell.policy --evaluations evaluations.json --trust auditor.trust',
  ],
  exitCodes: {
    0: 'it was in force at the evaluations that name its set',
    2: 'no key is trusted, or a file could not be read',
    3: 'a hash differs, the export is not authentic, or no evaluation names the set',
  },
});

/** Hand-made commands of the noun policy, as data. */
import { limits } from '../../../contract/limits.ts';
import { policyActions, policyStatuses } from '../../../contract/policy-words.ts';
import { command } from '../../program/command.ts';
import type { FlagSpec } from '../../program/command.ts';

const policyId = { name: 'policyId', description: 'Policy' } as const;
const files = {
  name: 'file',
  description: 'Policy files (*.policy, *.json), directories of them, or - for standard input',
  variadic: true,
} as const;
const checkpoint = {
  type: 'string',
  value: 'FILE',
  required: true,
  description: 'JSON file with the moment to decide: {step?, context}, or the context itself; - for stdin',
} as const satisfies FlagSpec;
const policyFlag = {
  type: 'strings',
  separator: ',',
  value: 'ID',
  description: 'Ask these policies; default all that are active',
} as const satisfies FlagSpec;
const failOn = {
  type: 'strings',
  separator: ',',
  choices: policyActions,
  value: 'DECISION',
  description: 'Exit with 3 where the combined decision is this one or a stricter one',
} as const satisfies FlagSpec;
const reason = {
  type: 'string',
  value: 'TEXT',
  maxLength: limits.reasonChars,
  description: 'Why; kept in the audit trail',
} as const satisfies FlagSpec;
const failed = { 3: 'the combined decision is at least as strict as --fail-on' } as const;

const fileForm =
  'A *.policy file reads: deny "no-shell" high, then optional lines name "…" and description "…", then when and the condition in the text syntax. A *.json file has policyId, name, description, condition (JSON, or a string in the text syntax), action and severity.';

export const policyCreate = command({
  name: 'policy create',
  summary: 'Create policies from files, or add a version where a policy exists and differs',
  changes: true,
  details: [
    fileForm,
    'What is equal to the newest version is left alone, so the command can be repeated. All files are read before the first policy is written.',
  ],
  args: [files],
  flags: {
    publish: { type: 'boolean', description: 'Put the newest version of each in force' },
    reason,
  },
  examples: [
    'gov policy create policies/',
    'gov policy create no-shell.policy --publish --reason "runbook 4"',
  ],
});

export const policyGet = command({
  name: 'policy get',
  summary: 'Get a policy with its active and its newest version',
  details: ['With -o policy: the file that policy create reads.'],
  args: [policyId],
  flags: {
    version: {
      type: 'integer',
      minimum: 1,
      value: 'N',
      description: 'With -o policy: this version; default the newest',
    },
  },
  formats: ['policy'],
  examples: ['gov policy get no-shell', 'gov policy get no-shell -o policy > no-shell.policy'],
});

export const policyPublish = command({
  name: 'policy publish',
  summary: 'Put a version of a policy in force, by default the newest',
  changes: true,
  args: [policyId],
  flags: {
    version: { type: 'integer', minimum: 1, value: 'N', description: 'Version; default the newest' },
    reason,
  },
  examples: ['gov policy publish no-shell', 'gov policy publish no-shell --version 2'],
  exitCodes: { 6: 'its status does not allow it' },
});

export const policyTransition = command({
  name: 'policy transition',
  summary: 'Move a policy to another status of its life cycle',
  changes: true,
  details: [
    'From draft: review, active, archived. From review: draft, active, archived. From active: disabled, archived. From disabled: active, archived. From archived: draft.',
  ],
  args: [policyId],
  flags: {
    to: { type: 'string', choices: policyStatuses, value: 'STATUS', required: true, description: 'Status' },
    reason,
  },
  examples: ['gov policy transition no-shell --to disabled --reason "false alarms"'],
  exitCodes: { 6: 'its status does not allow it' },
});

export const policyRollback = command({
  name: 'policy rollback',
  summary: 'Put an earlier version of a policy in force again',
  changes: true,
  args: [policyId],
  flags: {
    toVersion: { type: 'integer', minimum: 1, value: 'N', required: true, description: 'Version' },
    reason,
  },
  examples: ['gov policy rollback no-shell --to-version 1 --reason "version 2 denied too much"'],
  exitCodes: { 6: 'its status does not allow it' },
});

export const policyEvaluate = command({
  name: 'policy evaluate',
  summary: 'Decide a moment of a run by the policies in force, and record it',
  changes: true,
  flags: {
    run: { type: 'string', value: 'RUN', required: true, description: 'The run' },
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
  summary: 'Say what policies would decide, and which clause decides it; nothing is recorded',
  details: ['With a policy its newest version is asked; without one, all that are active.'],
  args: [{ ...policyId, optional: true }],
  flags: {
    checkpoint,
    policy: policyFlag,
    explain: {
      type: 'boolean',
      description: 'Show every clause with what it read, and the nearest change that would decide otherwise',
    },
    failOn,
  },
  examples: [
    'gov policy simulate --checkpoint moment.json',
    'gov policy simulate no-shell --checkpoint moment.json --explain',
  ],
  exitCodes: failed,
});

export const policyLint = command({
  name: 'policy lint',
  summary:
    'Find what is wrong in policy files: clauses that never match, missing guards, types that conflict',
  details: ['Works offline; only --seen with a run asks the service.'],
  args: [files],
  flags: {
    seen: {
      type: 'string',
      value: 'RUN|FILE',
      description: 'Recorded checkpoints, of a run or a file: tells of paths that none of them has',
    },
    failOn: {
      type: 'string',
      // from the mildest to the gravest
      choices: ['info', 'warning', 'error'],
      value: 'SEVERITY',
      description: 'Exit with 3 on findings from this severity on; default error',
    },
  },
  examples: [
    'gov policy lint policies/',
    'gov policy lint no-shell.policy --seen checkout-42 --fail-on warning',
  ],
  exitCodes: { 3: 'there is a finding of the severity of --fail-on, or a graver one' },
});

export const policyTest = command({
  name: 'policy test',
  summary: 'Run cases against policy files, without a service, and say what the cases do not test',
  details: [
    'Cases are JSON: [{"name": "…", "checkpoint": {…}, "expect": "deny"}], where expect is the combined decision, or decisions by policy id: {"no-shell": "deny"}. In a directory they are the files that end in .cases.json or .cases.ndjson.',
    'A clause is covered once one case has seen it true and one false. A mutant is the condition with one small change; one that no case notices is a change nobody would see.',
  ],
  args: [files],
  flags: {
    cases: { type: 'strings', value: 'FILE', required: true, description: 'Cases; repeatable' },
    minCoverage: {
      type: 'string',
      value: 'SHARE',
      description: 'Exit with 3 where fewer clauses are covered, such as 80%',
    },
    mutants: { type: 'boolean', description: 'Try mutants, and show those that no case notices' },
  },
  examples: [
    'gov policy test policies/ --cases policies/',
    'gov policy test no-shell.policy --cases no-shell.cases.json --min-coverage 90% --mutants',
  ],
  exitCodes: { 0: 'all cases passed', 3: 'a case failed, or the coverage is too low' },
});

export const policyDiff = command({
  name: 'policy diff',
  summary:
    'Show what differs between two versions, or between the newest version and a file, clause by clause',
  details: ['Without versions: what is in force against the newest.'],
  args: [
    { name: 'policy', description: 'Policy, or a policy file or directory' },
    { name: 'from', description: 'Version', optional: true },
    { name: 'to', description: 'Version; default the newest', optional: true },
  ],
  flags: {
    failOn: {
      type: 'string',
      choices: ['changed'],
      value: 'WHAT',
      description: 'Exit with 3 on a difference',
    },
  },
  examples: ['gov policy diff no-shell 1 2', 'gov policy diff policies/ --fail-on changed'],
  exitCodes: { 3: 'there is a difference, with --fail-on changed' },
});

export const policyImpact = command({
  name: 'policy impact',
  summary: 'Say what a proposed version would decide otherwise, on samples or on what was recorded',
  details: [
    'With --samples at most 50 checkpoints of a file; without, the recorded decisions, of a period where --since or --until is given. Those that are loosened are the calls that would have passed.',
  ],
  args: [{ ...policyId, optional: true }],
  flags: {
    proposed: {
      type: 'string',
      value: 'FILE',
      required: true,
      description: 'Policy file with the proposed version; its id counts where none is given',
    },
    samples: {
      type: 'string',
      value: 'FILE',
      description: 'Checkpoints: a JSON array, NDJSON, or a directory',
    },
    since: { type: 'time', value: 'TIME', description: 'Decisions from here on, such as 30d' },
    until: { type: 'time', value: 'TIME', description: 'Decisions up to here' },
    maxChange: { type: 'string', value: 'SHARE', description: 'Exit with 3 where more changes, such as 5%' },
    failOn: {
      type: 'strings',
      separator: ',',
      choices: ['loosened', 'tightened', 'changed'],
      value: 'WHAT',
      description: 'Exit with 3 where a decision is loosened, tightened, or either',
    },
  },
  examples: [
    'gov policy impact --proposed no-shell.policy --since 30d --fail-on loosened',
    'gov policy impact no-shell --proposed looser.policy --samples moments.json --max-change 5%',
  ],
  exitCodes: { 3: 'more changed than --max-change, or what --fail-on names' },
});

/** Hand-made commands of the noun policy, as data. */
import { limits } from '../../contract/limits.ts';
import { policyActions, policyStatuses } from '../../contract/policywords.ts';
import { command } from '../command.ts';
import type { FlagSpec } from '../command.ts';

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

/** Hand-made commands of the noun approvals, as data. */
import { limits } from '../../../contract/limits.ts';
import { command } from '../../program/command.ts';
import type { FlagSpec } from '../../program/command.ts';

const approvalId = { name: 'approvalId', description: 'Approval, such as apr_…' } as const;
const comment = {
  type: 'string',
  value: 'TEXT',
  maxLength: limits.reasonChars,
  description: 'Why; kept in the record',
} as const satisfies FlagSpec;
const details = [
  'The key that asked may not decide. For a plane on this machine the key in its approver.key is used, unless GOV_API_KEY or GOV_API_KEY_FILE names another.',
];

export const approvalsApprove = command({
  name: 'approvals approve',
  summary: 'Approve what a policy escalated',
  changes: true,
  details,
  args: [approvalId],
  flags: { comment },
  examples: ['gov approvals approve apr_01jq3v5k8hf7wb3c9x2m4n6p8r --comment "called the customer"'],
  exitCodes: { 4: 'this key asked, or may not decide', 6: 'it was decided before, or has expired' },
});

export const approvalsDeny = command({
  name: 'approvals deny',
  summary: 'Deny what a policy escalated',
  changes: true,
  details,
  args: [approvalId],
  flags: { comment },
  examples: ['gov approvals deny apr_01jq3v5k8hf7wb3c9x2m4n6p8r --comment "no receipt"'],
  exitCodes: { 4: 'this key asked, or may not decide', 6: 'it was decided before, or has expired' },
});

export const approvalsWait = command({
  name: 'approvals wait',
  summary: 'Wait until an approval is decided',
  details: ['Waits at most --timeout, default 10m.'],
  args: [approvalId],
  examples: ['gov approvals wait apr_01jq3v5k8hf7wb3c9x2m4n6p8r --timeout 1h'],
  exitCodes: { 0: 'approved', 3: 'denied, or expired', 8: 'not decided within --timeout' },
});

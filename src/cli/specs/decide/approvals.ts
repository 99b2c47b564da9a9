/** Commands of the noun approvals, as data. Tested by `test/cli/commands/tools/exec.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { command, flag } from '../../program/spec.ts';
import type { FlagSpec } from '../../program/spec.ts';
import { asciiFlag } from '../../program/screen-flag.ts';

const approvalId = { name: 'approvalId', description: 'Approval, such as apr_…' } as const;
const comment = flag.text('TEXT', 'Reason; stored in the log', { maxLength: limits.reasonChars });
const signing = {
  sign: flag.on('Sign the decision with an SSH key that is enrolled as an approver'),
  sshKey: flag.text(
    'FILE',
    'The key for --sign, or the .pub file of one in ssh-agent; default: the first key of ssh',
  ),
} as const satisfies Record<string, FlagSpec>;
const details = [
  'With --sign, gov shows the statement, and ssh-keygen signs it: nobody else can then have made the decision, and everybody can verify it.',
  'For a plane on this machine gov asks at the terminal for the phrase of the approver, and signs with approver.sealed; the first approval makes it. Without a terminal it ends with exit code 2. The key that asked may not decide.',
  'With GOV_API_KEY or GOV_API_KEY_FILE, and on a plane with approver.key, the decision rests on that key.',
];

export const approvalsShow = command({
  name: 'approvals show',
  prints: '=getApproval view? shownHash? hidden:integer',
  summary:
    'Show what a person has to know to decide: tool, arguments, actor, policies, and how long it waits',
  details: [
    'On a terminal a long value is cut, with its size and the start of its SHA-256. -o json shows everything.',
    'Above the arguments it says how many characters of each show nothing, what they spell, and which words mix scripts. Into a pipe standard error says so, and hidden is their number.',
    '--signed prints the call as an approver signs it: one line of ASCII, each other character as \\uXXXX. It ends with exit code 3 where the signed statement is about another view.',
  ],
  args: [approvalId],
  flags: {
    signed: flag.on('Print the call as it is signed: every character is visible'),
  },
  examples: [
    'gov approvals show apr_01jq3v5k8hf7wb3c9x2m4n6p8r',
    'gov approvals show apr_01jq3v5k8hf7wb3c9x2m4n6p8r --signed',
  ],
  exitCodes: { 3: 'with --signed: the signed statement is about another view' },
});

export const approvalsApprove = command({
  name: 'approvals approve',
  prints: '=getApproval',
  summary: 'Approve an escalated decision',
  changes: true,
  details,
  args: [approvalId],
  flags: { comment, ...signing },
  examples: [
    'gov approvals approve apr_01jq3v5k8hf7wb3c9x2m4n6p8r --comment "called the customer"',
    'gov approvals approve apr_01jq3v5k8hf7wb3c9x2m4n6p8r --sign --ssh-key ~/.ssh/id_ed25519',
  ],
  exitCodes: { 4: 'this key asked, or may not decide', 6: 'it was decided before, or has expired' },
});

export const approvalsDeny = command({
  name: 'approvals deny',
  prints: '=getApproval',
  summary: 'Deny an escalated decision',
  changes: true,
  details,
  args: [approvalId],
  flags: { comment, ...signing },
  examples: ['gov approvals deny apr_01jq3v5k8hf7wb3c9x2m4n6p8r --comment "no receipt"'],
  exitCodes: { 4: 'this key asked, or may not decide', 6: 'it was decided before, or has expired' },
});

export const approvalsExport = command({
  name: 'approvals export',
  prints: 'none',
  summary: 'Write a signed decision as files that ssh-keygen or openssl verifies',
  args: [approvalId],
  flags: { out: flag.text('DIR', 'Folder for the files', { required: true }) },
  examples: ['gov approvals export apr_01jq3v5k8hf7wb3c9x2m4n6p8r --out signed'],
  exitCodes: { 3: 'the decision is not signed' },
});

export const approvalsWait = command({
  name: 'approvals wait',
  prints: '=getApproval',
  summary: 'Wait until somebody decides an approval',
  details: ['Waits at most --timeout, default 10m.'],
  args: [approvalId],
  examples: ['gov approvals wait apr_01jq3v5k8hf7wb3c9x2m4n6p8r --timeout 1h'],
  exitCodes: { 0: 'approved', 3: 'denied, or expired', 8: 'not decided within --timeout' },
});

export const approvalsInbox = command({
  name: 'approvals inbox',
  prints: 'none',
  summary: 'Decide approvals on a screen: the longest waiting first, each in full',
  details: [
    'a approves and d denies the chosen approval: gov shows it in full, asks for a comment, and decides after a y. ? shows the keys.',
    ...details,
    'Into a pipe: the pending approvals, one JSON object per line, the longest waiting first.',
  ],
  flags: { ascii: asciiFlag },
  examples: ['gov approvals inbox', "gov approvals inbox | jq -r '.approvalId'"],
});

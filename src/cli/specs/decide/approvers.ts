/** Commands of the noun approvers, as data. Tested by `test/cli/commands/approvals/sign.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { command, flag } from '../../program/spec.ts';

export const approversAdd = command({
  name: 'approvers add',
  prints: '=enrolApprover',
  summary: 'Enrol an SSH key that signs approvals',
  changes: true,
  details: [
    'The key signs for the calling API key or person. It signs only approvals that are asked for later: enrol it before you publish a policy that requires signatures. A second key, and one for another principal, need a key with scope keys:write.',
    'For a plane on this machine gov uses the key in its approver.key, unless GOV_API_KEY or GOV_API_KEY_FILE names another. Passkeys are enrolled on the console.',
  ],
  args: [{ name: 'name', description: 'Person and device, such as "Ada, laptop"' }],
  flags: {
    sshKey: flag.text('FILE', 'The key, or its .pub file; gov reads the public half alone', {
      required: true,
    }),
    principal: flag.text('KEY', 'API key that signs with it; default: the calling one', {
      maxLength: limits.identifierChars,
    }),
  },
  examples: ['gov approvers add "Ada, laptop" --ssh-key ~/.ssh/id_ed25519'],
  exitCodes: { 4: 'this key may not enrol it', 6: 'an active approver has the key' },
});

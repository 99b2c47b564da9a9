/** Commands of the noun approvers, as data. Tested by `test/cli/commands/approvals/sign.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { data } from '../../program/data-flag.ts';
import { command, flag } from '../../program/spec.ts';

export const approversAdd = command({
  name: 'approvers add',
  prints: '=enrolApprover',
  summary: 'Enrol an SSH key that signs approvals',
  changes: true,
  details: [
    'The key signs for the calling API key or person. It signs only approvals that are asked for later: enrol it before you publish a policy that requires signatures. A second key, and one for another principal, need a key with scope keys:write.',
    "For a plane on this machine gov uses the operator's key, unless GOV_API_KEY or GOV_API_KEY_FILE names another. Passkeys are enrolled on the console.",
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

export const approversSeal = command({
  name: 'approvers seal',
  prints: '=enrolApprover',
  summary: 'Make the approver key of a plane of this machine, which only a phrase opens',
  changes: true,
  details: [
    'Asks at the terminal for a new phrase, writes approver.sealed into the data directory, and enrols the key. gov approvals approve then asks for the phrase and signs. The first gov approvals approve and gov agents install do the same.',
    'An approver.key of an older release becomes part of the sealed key, and the file is removed.',
  ],
  examples: ['gov approvers seal'],
  exitCodes: {
    2: 'the plane has a sealed key already',
    4: 'there is no terminal, or this key may not enrol it',
  },
});

export const approversRecover = command({
  name: 'approvers recover',
  prints: 'approverId keyId fingerprint',
  summary: 'Enrol an approver at the files of a stopped plane, without the signature of another',
  changes: true,
  details: [
    'For a forgotten phrase, and for a plane on which an agent asked before there was an approver. Stop the plane first. Asks at the terminal for a new phrase.',
    'The log has an event approver.recovered, and health is degraded for 30 days, because any program that may write the files of a plane can do this.',
  ],
  flags: { data },
  examples: ['sudo gov approvers recover --data /var/lib/gov'],
  exitCodes: { 4: 'there is no terminal', 6: 'the plane serves' },
});

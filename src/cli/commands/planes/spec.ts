/** Hand-made commands of the noun planes, as data: data planes that report to the service. */
import { limits } from '../../../contract/limits.ts';
import { command } from '../../program/command.ts';

const tokenFlags = {
  out: {
    type: 'string',
    value: 'FILE',
    description: 'Write the token to this file, for you alone, in place of showing it',
  },
  force: { type: 'boolean', description: 'Replace the file of --out' },
} as const;

export const planesCreate = command({
  name: 'planes create',
  summary: 'Register a data plane; the token for its enrolment is shown this once',
  details: [
    `The token is good for one data plane, for ${limits.enrolmentHours} hours. The command to run on the plane is printed with it.`,
  ],
  changes: true,
  args: [{ name: 'name', description: 'What people call it' }],
  flags: tokenFlags,
  examples: [
    'gov planes create ward-7',
    'gov planes create ward-7 --out ward-7.token',
    'gov planes create ward-7 -o json | jq -r .enrolmentToken',
  ],
});

export const planesToken = command({
  name: 'planes token',
  summary: 'Give a data plane another token for its enrolment; it is shown this once',
  details: [
    'For a plane that lost its credentials, was restored or recovered, has new keys, or was revoked: it enrols again and stays the same data plane, with what it reported, so nothing is billed twice.',
    `The token is good for the log of that plane alone, for ${limits.enrolmentHours} hours; one that was issued before ends. Until it is exchanged the plane's credentials work as before.`,
  ],
  changes: true,
  args: [{ name: 'dataPlaneId', description: 'Data plane, such as dpl_…' }],
  flags: tokenFlags,
  examples: ['gov planes token dpl_01jq3v5k8hf7wb3c9x2m4n6p8r --out ward-7.token'],
});

export const planesEnroll = command({
  name: 'planes enroll',
  summary: 'Answer the enrolment request of a data plane that reaches no service',
  details: [
    'The request comes from gov plane enroll --request, with a token of gov planes create or gov planes token. The answer goes back by whatever way: it is sealed, and no one but that data plane can open it.',
    'The data plane has credentials from then on, and what it had before has ended. A request that is answered again gets other ones: carry the newest answer.',
  ],
  changes: true,
  args: [
    { name: 'dataPlaneId', description: 'Data plane, such as dpl_…' },
    { name: 'file', description: 'Request, or - for standard input' },
  ],
  flags: {
    out: { type: 'string', value: 'FILE', short: 'O', description: 'File to write; default standard output' },
  },
  exitCodes: {
    2: 'the file is no request, or one of another token',
    6: 'the token has ended or was used, or the log is of another data plane',
  },
  examples: ['gov planes enroll dpl_01jq3v5k8hf7wb3c9x2m4n6p8r request.json -O answer.json'],
});

export const planesCosigner = command({
  name: 'planes cosigner',
  summary: 'Print the verifier key of the service, by which receipts of data planes are checked',
  details: [
    'Anybody may ask. Whoever checks what a data plane shows takes the key from here, and not from the plane.',
  ],
  flags: {
    trust: {
      type: 'boolean',
      description: 'As lines of a trust file (C2SP tlog-policy): the service as a witness that is required',
    },
  },
  examples: ['gov planes cosigner', 'gov planes cosigner --trust'],
});

export const planesRevoke = command({
  name: 'planes revoke',
  summary: 'Revoke a data plane: at once here, within five seconds everywhere',
  details: [
    'What it reported stays, and is billed. It goes on recording; it can report no more, until it enrols again with a token of gov planes token.',
  ],
  changes: true,
  args: [{ name: 'dataPlaneId', description: 'Data plane, such as dpl_…' }],
  examples: ['gov planes revoke dpl_01jq3v5k8hf7wb3c9x2m4n6p8r --yes'],
});

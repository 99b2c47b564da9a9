/**
 * Commands of the noun planes, as data: data planes that report to the service.
 * Tested by `test/cli/commands/planes/create.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { secretFlags } from '../../context/secret-file.ts';
import { command, flag } from '../../program/spec.ts';

const tokenFlags = secretFlags('the token');

export const planesCreate = command({
  name: 'planes create',
  prints: 'dataPlane:object enrolmentToken? tokenFile? expiresAt next',
  summary: 'Register a data plane; gov shows its enrolment token only this once',
  details: [
    `The token works once, for ${limits.enrolmentHours} hours. gov also prints the command to run on the plane.`,
  ],
  changes: true,
  args: [{ name: 'name', description: 'Name for people' }],
  flags: tokenFlags,
  examples: [
    'gov planes create ward-7',
    'gov planes create ward-7 --out ward-7.token',
    'gov planes create ward-7 --show-secret -o json | jq -r .enrolmentToken',
  ],
});

export const planesToken = command({
  name: 'planes token',
  prints: 'dataPlane:object enrolmentToken? tokenFile? expiresAt next',
  summary: 'Issue another enrolment token for a data plane; gov shows it only this once',
  details: [
    'For a plane that lost its credentials, was restored or recovered, has new keys, or was revoked. It enrols again and stays the same data plane with its reports, so the service bills nothing twice.',
    `The token works only for the log of that plane, for ${limits.enrolmentHours} hours; an earlier token ends. The plane's credentials work until it exchanges the token.`,
  ],
  changes: true,
  args: [{ name: 'dataPlaneId', description: 'Data plane, such as dpl_…' }],
  flags: tokenFlags,
  examples: ['gov planes token dpl_01jq3v5k8hf7wb3c9x2m4n6p8r --out ward-7.token'],
});

export const planesEnroll = command({
  name: 'planes enroll',
  prints: 'none',
  summary: 'Answer the enrolment request of a data plane that cannot reach the service',
  details: [
    'gov plane enroll --request makes the request, with a token of gov planes create or gov planes token. Carry the answer back by any means: it is encrypted, and only that data plane can open it.',
    'From then on the data plane has credentials, and its earlier ones end. Answering a request again gives other credentials: carry the newest answer.',
  ],
  changes: true,
  args: [
    { name: 'dataPlaneId', description: 'Data plane, such as dpl_…' },
    { name: 'file', description: 'Request, or - for standard input' },
  ],
  flags: {
    out: flag.text('FILE', 'File to write; default: standard output', { short: 'O' }),
  },
  exitCodes: {
    2: 'the file is not a request, or belongs to another token',
    6: 'the token has expired or was used, or the log belongs to another data plane',
  },
  examples: ['gov planes enroll dpl_01jq3v5k8hf7wb3c9x2m4n6p8r request.json -O answer.json'],
});

export const planesCosigner = command({
  name: 'planes cosigner',
  prints: 'cosignerKey',
  summary: 'Print the service’s verifier key, which checks the receipts of data planes',
  details: [
    'No credential is needed. To check the receipts of a data plane, take the key from the service and not from the plane.',
  ],
  flags: {
    trust: flag.on('As lines of a trust file (C2SP tlog-policy) that require the service as a witness'),
  },
  examples: ['gov planes cosigner', 'gov planes cosigner --trust'],
});

export const planesHeads = command({
  name: 'planes heads',
  prints: 'any',
  summary: 'Write the signed heads of a data plane’s audit log that its usage reports contained',
  details: [
    'The file has signatures and hashes, and no content of the log. An auditor compares it with the heads of the proofs that the data plane gave: gov heads import.',
    `The service stores a report only with a valid signature of the data plane. gov heads import verifies them again, with the keys that you trust. The file has the newest ${limits.keptHeads} heads.`,
  ],
  args: [{ name: 'dataPlaneId', description: 'Data plane, such as dpl_…' }],
  flags: {
    out: flag.text('FILE', 'File to write; default: standard output', { short: 'O' }),
  },
  exitCodes: { 5: 'the service has no such data plane, or no report of it' },
  examples: ['gov planes heads dpl_01jq3v5k8hf7wb3c9x2m4n6p8r -O ward-7.govheads.json'],
});

export const planesRevoke = command({
  name: 'planes revoke',
  prints: 'none',
  summary: 'Revoke a data plane: at once here, within five seconds everywhere',
  details: [
    'Its reports stay, and are billed. The plane still records events. It reports again after enrolling with a token of gov planes token.',
  ],
  changes: true,
  args: [{ name: 'dataPlaneId', description: 'Data plane, such as dpl_…' }],
  examples: ['gov planes revoke dpl_01jq3v5k8hf7wb3c9x2m4n6p8r --yes'],
});

export const planesBundle = command({
  name: 'planes bundle',
  prints: 'any',
  summary: 'Get the signed configuration of the project, to carry it to its data planes',
  flags: {
    out: flag.text('FILE', 'File to write; default: standard output', { short: 'O' }),
    force: tokenFlags.force,
  },
  examples: ['gov planes bundle -O ward-7.govconfig.json', 'gov planes bundle | sha256sum'],
});

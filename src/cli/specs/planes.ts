/** Hand-made commands of the noun planes, as data: data planes that report to the service. */
import { limits } from '../../contract/limits.ts';
import { command } from '../command.ts';

export const planesCreate = command({
  name: 'planes create',
  summary: 'Register a data plane; the token for its enrolment is shown this once',
  details: [
    `The token is good for one data plane, for ${limits.enrolmentHours} hours. The command to run on the plane is printed with it.`,
  ],
  changes: true,
  args: [{ name: 'name', description: 'What people call it' }],
  flags: {
    out: {
      type: 'string',
      value: 'FILE',
      description: 'Write the token to this file, for you alone, in place of showing it',
    },
    force: { type: 'boolean', description: 'Replace the file of --out' },
  },
  examples: [
    'gov planes create ward-7',
    'gov planes create ward-7 --out ward-7.token',
    'gov planes create ward-7 -o json | jq -r .enrolmentToken',
  ],
});

export const planesRevoke = command({
  name: 'planes revoke',
  summary: 'Revoke a data plane: at once here, within five seconds everywhere',
  details: ['What it reported stays, and is billed. It goes on recording; it can report no more.'],
  changes: true,
  args: [{ name: 'dataPlaneId', description: 'Data plane, such as dpl_…' }],
  examples: ['gov planes revoke dpl_01jq3v5k8hf7wb3c9x2m4n6p8r --yes'],
});

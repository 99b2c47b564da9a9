/** Commands of the noun webhooks, as data. Tested by `test/cli/commands/webhooks/create.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { eventChoices } from '../../../contract/webhook-events.ts';
import { webhookSignings } from '../../../contract/webhooks.ts';
import { secretFlags } from '../../context/secret-file.ts';
import { command, flag } from '../../program/spec.ts';

const endpointId = { name: 'endpointId', description: 'Endpoint, such as whe_…' } as const;
const events = flag.list('A,B', 'Kinds of events, separated by commas; * for all', {
  separator: ',',
  choices: eventChoices,
});
const description = flag.text('TEXT', 'Purpose of the endpoint', {
  maxLength: limits.webhookDescriptionChars,
});
const signing = (otherwise: string) =>
  flag.text('SCHEME', `v1: a secret that both sides have; v1a: a public key that verifies; ${otherwise}`, {
    choices: webhookSignings,
  });
const example = 'whe_01jq3v5k8hf7wb3c9x2m4n6p8r';

export const webhooksCreate = command({
  name: 'webhooks create',
  prints: 'secret?:string|null secretFile? endpoint:object',
  summary: 'Create an endpoint that gets webhooks; gov shows its secret only this once',
  details: ['Without --events the endpoint gets the kinds of the setting webhookDefaults, or all.'],
  changes: true,
  args: [{ name: 'url', description: 'HTTPS address of your receiver, port 443 or 8443' }],
  flags: {
    events,
    description,
    disabled: flag.on('Send no events yet; gov webhooks test works'),
    signing: signing('default v1'),
    ...secretFlags('the secret'),
  },
  examples: [
    'gov webhooks create https://hooks.example.com/gov --events job.failed,approval.requested --out hook.secret',
    'gov webhooks create https://hooks.example.com/gov --show-secret -o json | jq -r .secret',
    'gov webhooks create https://hooks.example.com/gov --signing v1a',
  ],
});

export const webhooksUpdate = command({
  name: 'webhooks update',
  prints: '=updateWebhookEndpoint',
  summary: 'Change address, events, description or state of an endpoint',
  changes: true,
  args: [endpointId],
  flags: {
    url: flag.text('URL', 'HTTPS address of your receiver'),
    events,
    description,
    enable: flag.on('Send events, also after the service disabled the endpoint'),
    disable: flag.on('Send no events, and cancel those that wait'),
  },
  examples: [`gov webhooks update ${example} --enable`, `gov webhooks update ${example} --events job.failed`],
});

export const webhooksDelete = command({
  name: 'webhooks delete',
  prints: 'none',
  summary: 'Delete an endpoint, and cancel the messages that wait for it',
  changes: true,
  args: [endpointId],
  examples: [`gov webhooks delete ${example} --yes`],
});

export const webhooksRotate = command({
  name: 'webhooks rotate',
  prints: 'secret?:string|null secretFile? endpoint:object',
  summary: 'Replace the secret or key pair of an endpoint; messages carry both signatures for a while',
  changes: true,
  args: [endpointId],
  flags: {
    overlap: flag.duration(
      'TIME',
      'Time that messages also carry the old signature, at most and by default 24h',
    ),
    signing: signing('default: as before'),
    ...secretFlags('the secret'),
  },
  examples: [`gov webhooks rotate ${example} --overlap 1h --out hook.secret --force`],
});

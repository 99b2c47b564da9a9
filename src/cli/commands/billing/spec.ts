/** Commands of billing, as data. */
import { limits } from '../../../contract/limits.ts';
import { command } from '../../program/spec.ts';

export const billingPortal = command({
  name: 'billing portal',
  summary: 'Print the address of the payment provider’s portal for the organization',
  details: ['The address works for a few minutes, for whoever has it.'],
  flags: {
    returnUrl: {
      type: 'string',
      value: 'URL',
      maxLength: limits.returnUrlChars,
      description: 'Where the portal leads back to; default the service',
    },
    open: { type: 'boolean', description: 'Open it in a browser' },
  },
  examples: ['gov billing portal --open'],
  exitCodes: { 5: 'the organization is not known to the payment provider' },
});

export const billingSummary = command({
  name: 'billing summary',
  summary: 'Show what the projects of the organization used this month',
  examples: ['gov billing summary', 'gov billing summary -o csv'],
});

export const billingRetention = command({
  name: 'billing retention',
  summary: 'Show, or set, how long bodies of the project are kept, and a legal hold',
  changes: { with: ['days', 'legalHold'] },
  flags: {
    days: { type: 'string', value: 'N', description: 'Days, or forever' },
    legalHold: {
      type: 'string',
      choices: ['on', 'off'],
      value: 'WHETHER',
      description: 'While it is on nothing is deleted',
    },
  },
  examples: ['gov billing retention', 'gov billing retention --days 365 --legal-hold on'],
});

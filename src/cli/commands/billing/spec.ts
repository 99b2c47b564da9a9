/** Commands of the noun billing, as data. Tested by `test/cli/commands/usage/show.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { command } from '../../program/spec.ts';

export const billingPortal = command({
  name: 'billing portal',
  prints: '=openBillingPortal',
  summary: 'Print the address of the payment provider’s portal for the organization',
  details: ['The address works for a few minutes, for everybody who has it.'],
  flags: {
    returnUrl: {
      type: 'string',
      value: 'URL',
      maxLength: limits.returnUrlChars,
      description: 'Address that the portal returns to; default: the service',
    },
    open: { type: 'boolean', description: 'Open it in a browser' },
  },
  examples: ['gov billing portal --open'],
  exitCodes: { 5: 'the payment provider does not know the organization' },
});

export const billingSummary = command({
  name: 'billing summary',
  prints: '=getBillingSummary',
  summary: 'Show this month’s usage of all projects of the organization',
  examples: ['gov billing summary', 'gov billing summary -o csv'],
});

export const billingRetention = command({
  name: 'billing retention',
  prints: '=getRetention',
  summary: 'Show or set the retention of the project’s event bodies, and a legal hold',
  changes: { with: ['days', 'legalHold'] },
  flags: {
    days: { type: 'string', value: 'N', description: 'Days, or forever' },
    legalHold: {
      type: 'string',
      choices: ['on', 'off'],
      value: 'WHETHER',
      description: 'While it is on, the service deletes nothing',
    },
  },
  examples: ['gov billing retention', 'gov billing retention --days 365 --legal-hold on'],
});

/** Commands of the noun billing, as data. Tested by `test/cli/commands/usage/show.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { command, flag } from '../../program/spec.ts';

export const billingPortal = command({
  name: 'billing portal',
  prints: '=openBillingPortal',
  summary: 'Print the address of the payment provider’s portal for the organization',
  details: ['The address works for a few minutes, for everybody who has it.'],
  flags: {
    returnUrl: flag.text('URL', 'Address that the portal returns to; default: the service', {
      maxLength: limits.returnUrlChars,
    }),
    open: flag.on('Open it in a browser'),
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
    days: flag.text('N', 'Days, or forever'),
    legalHold: flag.text('WHETHER', 'While it is on, the service deletes nothing', {
      choices: ['on', 'off'],
    }),
  },
  examples: ['gov billing retention', 'gov billing retention --days 365 --legal-hold on'],
});

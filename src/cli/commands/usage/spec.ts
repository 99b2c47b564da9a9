/** Hand-made commands of the nouns usage and billing, as data. */
import { limits } from '../../../contract/limits.ts';
import { command } from '../../program/command.ts';

export const usageShow = command({
  name: 'usage show',
  summary: 'Show metered operations of a month beside their quotas',
  flags: {
    period: {
      type: 'string',
      value: 'YYYY-MM',
      pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$',
      description: 'Calendar month, UTC; default this one',
    },
    failOver: {
      type: 'string',
      value: 'PERCENT',
      description: 'Exit with 3 where this share of a quota, or more, is used',
    },
  },
  examples: ['gov usage show', 'gov usage show --fail-over 90%', 'gov usage show --period 2026-01 -o csv'],
  exitCodes: { 3: 'a quota is used to the share of --fail-over' },
});

export const usageThresholds = command({
  name: 'usage thresholds',
  summary: 'Show, or set, at which percentages of a quota it is told',
  changes: { with: ['set'] },
  flags: {
    set: {
      type: 'strings',
      separator: ',',
      value: 'A,B',
      description: `Percentages from 1 to 100, at most ${limits.thresholds}`,
    },
  },
  examples: ['gov usage thresholds', 'gov usage thresholds --set 50,80,95'],
});

export const usageImport = command({
  name: 'usage import',
  summary: 'Bring what data planes wrote to files to the service, and their receipts back',
  details: [
    'Files hold one message a line, as gov plane usage export writes them. A file that is brought again changes nothing.',
  ],
  changes: true,
  args: [{ name: 'file', description: 'File of a data plane, or - for standard input', variadic: true }],
  flags: {
    receipts: {
      type: 'string',
      value: 'FILE',
      description: 'Write what the messages were answered with, for gov plane usage receipts',
    },
  },
  examples: ['gov usage import ward-7.ndjson --receipts ward-7.receipts.ndjson'],
  exitCodes: { 3: 'a message was refused' },
});

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

/** Commands of metered usage, as data. Tested by `test/cli/commands/usage/show.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { command, flag } from '../../program/spec.ts';

export const usageShow = command({
  name: 'usage show',
  prints: '=getUsage',
  summary: 'Show the metered operations of a month and their quotas',
  flags: {
    period: flag.text('YYYY-MM', 'Calendar month, UTC; default: this one', {
      pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$',
    }),
    failOver: flag.text('PERCENT', 'Exit with 3 if this share of a quota, or more, is used'),
  },
  examples: ['gov usage show', 'gov usage show --fail-over 90%', 'gov usage show --period 2026-01 -o csv'],
  exitCodes: { 3: 'the usage of a quota has reached --fail-over' },
});

export const usageThresholds = command({
  name: 'usage thresholds',
  prints: '=getThresholds',
  summary: 'Show or set the percentages of a quota that cause a notification',
  changes: { with: ['set'] },
  flags: {
    set: flag.list('A,B', `Percentages from 1 to 100, at most ${limits.thresholds}`, { separator: ',' }),
  },
  examples: ['gov usage thresholds', 'gov usage thresholds --set 50,80,95'],
});

export const usageImport = command({
  name: 'usage import',
  prints: 'receipts:array',
  summary: 'Send the usage files of data planes to the service, and write its receipts',
  details: [
    'Files have one message per line, as gov plane usage export writes them. Sending a file again changes nothing.',
  ],
  changes: true,
  args: [{ name: 'file', description: 'File of a data plane, or - for standard input', variadic: true }],
  flags: {
    receipts: flag.text('FILE', 'Write the service’s responses to this file, for gov plane usage receipts'),
  },
  examples: ['gov usage import ward-7.ndjson --receipts ward-7.receipts.ndjson'],
  exitCodes: { 3: 'a message was refused' },
});

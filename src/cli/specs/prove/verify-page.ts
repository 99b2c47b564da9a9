/** `gov verify-page`, as data. Tested by `test/cli/commands/verify-page/run.test.ts`. */
import { command, flag } from '../../program/spec.ts';

export const verifyPage = command({
  name: 'verify-page',
  prints: 'none',
  summary: 'Write a page that verifies evidence in a browser, offline',
  details: [
    'The page is one HTML file without anything outside of it. It checks proof bundles, exports, answers of the log and reports with the verifier of this tool, sends nothing, and works with the network off.',
    'It does not compare the printed pages of a report: gov report verify does.',
  ],
  flags: {
    out: flag.text('FILE', 'Write to this file; default: standard output', { short: 'O' }),
    force: flag.on('Replace an existing file'),
  },
  examples: ['gov verify-page > verify.html', 'gov verify-page -O verify.html'],
  exitCodes: { 2: 'the file exists' },
});

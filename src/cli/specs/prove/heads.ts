/** Commands of the noun heads, as data. Tested by `test/cli/commands/proofs/history.test.ts`. */
import { command, flag } from '../../program/spec.ts';
import { trusted } from '../../program/trusted.ts';

const history = 'origin heads:integer result kept:integer|null detail:string|null evidence:string|null';

export const headsList = command({
  name: 'heads list',
  prints: 'heads[] size:integer root paths:integer',
  summary: 'List the signed heads of a log that this machine keeps',
  flags: trusted,
  examples: ['gov heads list', 'gov heads list --trust auditor.trust -o json'],
});

export const headsExport = command({
  name: 'heads export',
  prints: 'origin heads:integer file:string|null',
  summary: 'Write the kept heads of a log to a file, for another verifier',
  details: [
    'The file has signatures and hashes, and no content of the log. Two verifiers that exchange heads find out whether the log shows them one history.',
  ],
  flags: {
    ...trusted,
    out: flag.text('FILE', 'Write to this file; default: standard output', { short: 'O' }),
  },
  examples: ['gov heads export --trust auditor.trust -O heads.govheads.json'],
  exitCodes: { 5: 'no head of this log is kept' },
});

export const headsImport = command({
  name: 'heads import',
  prints: history,
  summary: 'Compare heads of another verifier with the kept ones, and keep them',
  args: [{ name: 'file', description: 'Checkpoint, tlog-proof, proof, answer or file of heads' }],
  flags: trusted,
  examples: ['gov heads import heads.govheads.json --trust auditor.trust'],
  exitCodes: {
    2: 'no key is trusted, or no trusted key signed a head of the file',
    3: 'the log signed two histories',
  },
});

export const headsCheck = command({
  name: 'heads check',
  prints: history,
  summary: 'Ask the log of the context whether it still begins with each kept head',
  details: [
    'Fetches the newest checkpoint, and for each kept head the path of its last leaf. A log with another history refuses the path, or convicts itself by it.',
  ],
  flags: trusted,
  examples: ['gov heads check'],
  exitCodes: {
    3: 'the log signed two histories, shows fewer leaves than a kept head, or does not show the path',
  },
});

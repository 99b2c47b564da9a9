/** Commands of the noun evidence, as data. Tested by `test/cli/commands/proofs/history.test.ts`. */
import { command } from '../../program/spec.ts';
import { trusted } from '../../program/trusted.ts';

export const evidenceVerify = command({
  name: 'evidence verify',
  prints:
    'verified:boolean code:string|null shows:string|null origin:string|null detail trustFrom:string|null',
  summary: 'Verify a file that shows that a log broke a promise',
  details: [
    'Works offline. A split view has two signed heads of one log that no log that only grows can have: whoever holds the log key showed two histories. The file needs nothing else, and accuses nobody who did not sign both.',
  ],
  args: [{ name: 'file', description: 'Evidence file, *.govevidence.json' }],
  flags: trusted,
  examples: ['gov evidence verify split-view-1f0c77ab.govevidence.json --trust auditor.trust'],
  exitCodes: {
    0: 'the file shows that the log broke a promise',
    2: 'no key is trusted, or the file is not evidence',
    3: 'the file shows nothing: a signature or a path is wrong, or both heads may be of one log',
  },
});

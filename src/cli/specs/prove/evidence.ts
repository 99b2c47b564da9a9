/** Commands of the noun evidence, as data. Tested by `test/cli/commands/proofs/history.test.ts`. */
import { command } from '../../program/spec.ts';
import { trusted } from '../../program/trusted.ts';

export const evidenceVerify = command({
  name: 'evidence verify',
  prints:
    'verified:boolean code:string|null shows:string|null origin:string|null detail trustFrom:string|null',
  summary: 'Verify a file that shows that a log broke a promise',
  details: [
    'Works offline. A split view is two signed heads that cannot both be of one append-only log, so the holder of the log key showed two histories. A broken receipt is a receipt of a leaf, and a signed tree that lacks the leaf. The file and the keys of the log are all that a verifier needs. Nobody without the log key can make such a file.',
  ],
  args: [{ name: 'file', description: 'Evidence file, *.govevidence.json' }],
  flags: trusted,
  examples: ['gov evidence verify split-view-1f0c77ab.govevidence.json --trust auditor.trust'],
  exitCodes: {
    0: 'the file shows that the log broke a promise',
    2: 'no key is trusted, or the file is not evidence',
    3: 'the file shows nothing: a signature or a path is wrong, or the log may have kept its promise',
  },
});

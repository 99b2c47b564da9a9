/** Commands of the noun trust, as data. Tested by `test/cli/commands/trust/fetch.test.ts`. */
import { command, flag } from '../../program/spec.ts';

export const trustFetch = command({
  name: 'trust fetch',
  prints: 'origin file:string|null firstUse:boolean checkpoint:object quorumMet:boolean keys:array trust',
  summary: 'Fetch the keys of a log from its service or plane, as a trust file',
  details: [
    'Checks that the newest checkpoint verifies under the keys, and shows the fingerprint of each key. A first fetch trusts the answer: it proves that keys and checkpoint match, and not whose they are. Get the fingerprints from the operator by another channel, and give them to --expect-key.',
    'With an earlier trust file, of the context or in FILE, gov accepts a new key only if the log has a chain of signatures from a trusted key to it.',
  ],
  flags: {
    out: flag.text('FILE', 'Write the trust file here; default: standard output', { short: 'O' }),
    expectKey: flag.list(
      'HASH',
      'Fingerprint of a key, as the operator told you; repeatable; other keys must follow from it',
    ),
  },
  examples: [
    'gov trust fetch --out acme.trust',
    'gov trust fetch --out acme.trust --expect-key sha256:0000000000000000000000000000000000000000000000000000000000000000',
  ],
  exitCodes: { 3: 'the keys are not those expected, or the checkpoint does not verify under them' },
});

export const trustShow = command({
  name: 'trust show',
  prints: 'file origin quorum:integer indexQuorum:integer keys:array',
  summary: 'Show the keys, fingerprints and witnesses of a trust file',
  args: [{ name: 'file', optional: true, description: 'Trust file; default: that of the context' }],
  examples: ['gov trust show', 'gov trust show acme.trust -o json'],
});

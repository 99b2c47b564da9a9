/** `gov quickstart`, as data. Tested by `test/cli/commands/quickstart/run.test.ts`. */
import { formatNames } from '../../../core/intake/names.ts';
import { command, flag } from '../../program/spec.ts';

export const quickstart = command({
  name: 'quickstart',
  prints:
    'runId events:integer proofId proofHash verified:boolean authentic:boolean compliant tamperedRefused:boolean payments:array folder',
  summary: 'Watch policies decide about an agent’s payments, and prove what happened',
  details: [
    'Starts a data plane of its own with two policies. An agent pays three invoices: one is allowed, one waits for a person, one is denied. gov records and proves the run, verifies the proof without network, and rejects a changed copy.',
    'Keeps the proof, its trust file and the policies in ./gov-quickstart. The plane stops at the end, and its data is removed. With --keep the plane runs on, its data is in the folder too, and a context quickstart leads to it.',
    'With FILE it records, proves and verifies that run instead; no policy decides about it.',
  ],
  args: [
    { name: 'file', description: 'Run to record instead, in any format of events push', optional: true },
  ],
  flags: {
    from: flag.text('FORMAT', 'Format of FILE; default: detected', { choices: ['auto', ...formatNames] }),
    data: flag.text('DIR', 'Folder of the files; default: gov-quickstart'),
    keep: flag.on('Keep the plane running, and make a context for it'),
  },
  examples: ['gov quickstart', 'gov quickstart --keep', 'gov quickstart --from openhands trajectory.json'],
  exitCodes: {
    0: 'authentic and compliant, or not governed with FILE, and the changed copy was rejected',
    3: 'the proof does not verify, or the changed copy does',
  },
});

/** `gov doctor`, as data. Tested by `test/cli/doctor/run.test.ts`. */
import { command, flag } from '../../program/spec.ts';

export const doctor = command({
  name: 'doctor',
  prints: 'ok:boolean checks:array',
  summary: 'Check that gov works here: configuration, service, key, trust, disk, agents',
  withoutSettings: true,
  details: [
    'Runs all checks at the same time, each for 3 seconds at most, and changes nothing. Each check that is not ok names the next step. Without a context or a network it skips what needs one.',
    'gov plane doctor and gov service doctor check a server on this machine in depth, and gov agents doctor the hooks of agents.',
    '--bundle writes one JSON file for the people who help you: the results, versions, contexts and settings, names of environment variables, and the health of the server. It has no key, token, event or value of a variable, and replaces your home folder by ~. gov lists the parts before it writes, and sends nothing: read the file, then send it.',
  ],
  flags: {
    bundle: flag.text('FILE', 'Also write a support bundle to this JSON file'),
  },
  examples: ['gov doctor', 'gov doctor -C acme -o json', 'gov doctor --bundle gov-support.json'],
  exitCodes: { 3: 'a check failed; a warning alone gives 0' },
});

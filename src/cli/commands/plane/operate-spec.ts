/** Commands that keep a data plane running: copies of it, looks at it. As data. */
import { command } from '../../program/command.ts';

const data = {
  type: 'string',
  value: 'DIR',
  description: 'Data directory; default that of the chosen context',
} as const;

export const planeBackup = command({
  name: 'plane backup',
  summary: 'Copy a data plane into a directory, also while it serves, and verify the copy',
  details: [
    'The copy is of one moment: the log, what lies beside it, configuration and trust, with a signed manifest of sizes, ' +
      'hashes and the newest checkpoints. Keys are left out unless --with-keys asks for them: who has them can sign.',
  ],
  flags: {
    data,
    out: { type: 'string', value: 'DIR', short: 'O', required: true, description: 'Directory to make' },
    withKeys: {
      type: 'boolean',
      description: 'Also keys/, the keys of subjects and the local API keys; the copy is a secret then',
    },
  },
  exitCodes: { 6: 'the directory holds something, or the plane is an older copy itself' },
  examples: [
    'gov plane backup -O /backup/2026-11-20',
    'gov plane backup --data /var/lib/gov -O ./copy --with-keys',
  ],
});

export const planeRestore = command({
  name: 'plane restore',
  summary: 'Make a data plane out of a backup, and prove that this goes back behind nothing that was signed',
  details: [
    'Give the newest checkpoints that are known elsewhere: files that clients or a witness kept, a receipt of the ' +
      'service, or the heads.db of the lost machine. Where one of them is beyond the backup, the plane that is made ' +
      'never signs on that log: whoever holds the checkpoint could prove two histories. What is missing is said.',
  ],
  args: [{ name: 'from', description: 'Directory of the backup' }],
  flags: {
    data: { type: 'string', value: 'DIR', required: true, description: 'Data directory to make' },
    lastCheckpoint: {
      type: 'strings',
      value: 'FILE|-',
      description: 'Newest signed checkpoint known elsewhere, or a kept heads.db; may be given several times',
    },
    unproven: { type: 'boolean', description: 'No checkpoint is known elsewhere: nothing is proven' },
    trust: {
      type: 'string',
      value: 'FILE',
      description: 'Trust file of the plane instead of the one in the backup',
    },
  },
  exitCodes: {
    0: 'restored, and it has all that the checkpoints say',
    3: 'restored, but behind a checkpoint: it does not serve',
    6: 'the directory holds something, or a checkpoint is of another history',
  },
  examples: [
    'gov plane restore /backup/2026-11-20 --data ./gov-data --last-checkpoint newest.txt',
    'gov plane restore ./copy --data ./gov-data --unproven',
  ],
});

export const planeDoctor = command({
  name: 'plane doctor',
  summary: 'Say whether a data plane could serve, and what to do where it could not',
  flags: {
    data,
    listen: {
      type: 'string',
      value: 'HOST:PORT',
      description: 'Address to look at instead of the configured one',
    },
    metricsListen: { type: 'string', value: 'HOST:PORT', description: 'Address of the metrics, or off' },
  },
  exitCodes: { 0: 'nothing failed; warnings may be there', 3: 'a check failed' },
  examples: ['gov plane doctor', 'gov plane doctor --data /var/lib/gov -o json'],
});

export const logCheckpoint = command({
  name: 'log checkpoint',
  summary: 'Print the newest signed checkpoint of the log, to be kept elsewhere',
  details: ['Who keeps it can prove later that a log lost something: gov plane restore --last-checkpoint.'],
  flags: {
    out: { type: 'string', value: 'FILE', short: 'O', description: 'Write it there, whole or not at all' },
  },
  examples: ['gov log checkpoint --out newest.txt', 'gov log checkpoint | ssh elsewhere tee newest.txt'],
});

export const logRecover = command({
  name: 'log recover',
  summary: 'Begin a new log where the old one is behind what was signed and nothing newer is left',
  details: [
    'Makes a plane with the same project and keys, and new logs whose first leaves say which logs they follow and why. ' +
      'Events, policies and API keys of the old one stay in its directory, which is kept as an archive: to verify, to ' +
      'prove from, never to serve. Publish policies again, make keys again, enrol again.',
  ],
  args: [{ name: 'from', description: 'Data directory whose log is behind, as gov plane restore leaves it' }],
  flags: {
    data: { type: 'string', value: 'DIR', required: true, description: 'Data directory to make' },
    reason: {
      type: 'string',
      value: 'TEXT',
      required: true,
      maxLength: 1000,
      description: 'Why; stands in the log',
    },
  },
  exitCodes: { 6: 'the log can go on, or the directory holds something' },
  examples: ['gov log recover ./restored --data ./gov-data-2 --reason "disk lost on 20 November"'],
});

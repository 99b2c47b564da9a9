/** Commands of a data plane on this machine, as data. Those that report usage are in `telemetry-spec.ts`. */
import { command } from '../../program/spec.ts';
import { data } from '../../program/data-flag.ts';

const file = {
  name: 'file',
  description: 'Signed configuration (gov planes bundle), or - for standard input',
} as const;

export const planeInit = command({
  name: 'plane init',
  summary: 'Make a data plane: directory, keys, configuration and a context for it',
  flags: {
    data: { type: 'string', value: 'DIR', required: true, description: 'Data directory to make' },
    name: {
      type: 'string',
      value: 'NAME',
      description: 'Name of the plane and its context; default the directory’s',
    },
    listen: {
      type: 'string',
      value: 'HOST:PORT',
      description: 'Address to serve at; default 127.0.0.1:7460',
    },
    metricsListen: { type: 'string', value: 'HOST:PORT', description: 'Address of the metrics, or off' },
    environment: {
      type: 'string',
      choices: ['production', 'sandbox'],
      value: 'ENV',
      description: 'What its keys are for; default production',
    },
  },
  examples: ['gov plane init --data ./gov-data'],
});

export const planeServe = command({
  name: 'plane serve',
  summary: 'Serve a data plane until it is told to stop',
  flags: {
    data,
    listen: {
      type: 'string',
      value: 'HOST:PORT',
      description: 'Address to serve at instead of the configured one',
    },
    metricsListen: { type: 'string', value: 'HOST:PORT', description: 'Address of the metrics, or off' },
    logLevel: { type: 'string', value: 'LEVEL', description: 'Least level that is logged; default info' },
    tlsCert: {
      type: 'string',
      value: 'FILE',
      description: 'Serve over TLS with this certificate and its chain (PEM)',
    },
    tlsKey: {
      type: 'string',
      value: 'FILE',
      description: 'Its private key (PEM), a file that only its owner reads',
    },
    tlsClientCa: {
      type: 'string',
      value: 'FILE',
      description: 'Authorities (PEM) of which every client needs a certificate',
    },
    witness: {
      type: 'strings',
      value: 'VKEY@URL',
      description: 'Witness that cosigns checkpoints, instead of those in plane.json; may be repeated',
    },
    rebuildHeads: {
      type: 'boolean',
      description: 'Make a lost heads.db again from gov.db, which must be the newest copy',
    },
  },
  exitCodes: { 0: 'stopped by a signal', 6: 'another process serves it', 74: 'stopped by a storage fault' },
  ownsSignals: true,
  examples: ['gov plane serve', 'gov plane serve --data /var/lib/gov'],
});

export const planeStatus = command({
  name: 'plane status',
  summary: 'Say whether a data plane serves, and how it is',
  flags: { data },
  examples: ['gov plane status', 'gov plane status -o json'],
  exitCodes: {
    0: 'it serves and writes are durable',
    3: 'it serves but is degraded or blocked',
    10: 'it does not serve',
  },
});

export const planeConfigShow = command({
  name: 'plane config show',
  summary: 'Show the configuration in force that came from the service: version, hash, policies',
  details: ['A plane that serves is asked; of one that does not, the data directory is read.'],
  flags: { data },
  examples: ['gov plane config show', 'gov plane config show -o json | jq -r .bundleHash'],
  exitCodes: { 3: 'the newest one of the service is refused', 5: 'the plane holds none' },
});

export const planeConfigApply = command({
  name: 'plane config apply',
  summary: 'Put a signed configuration from a file in force: for a plane without a way to its service',
  details: [
    'It is taken whole or not at all: signature, project, a version after the one in force, and every policy are checked first. What was in force stays where it is refused.',
    'A plane that serves takes it at once; one that does not has it when it is started.',
  ],
  args: [file],
  flags: {
    data,
    older: {
      type: 'boolean',
      description: 'Take it though a later version is in force: of a service restored from a backup',
    },
  },
  changes: true,
  examples: ['gov plane config apply ward-7.govconfig.json'],
  exitCodes: { 3: 'it is refused; what was in force stays' },
});

export const planeConfigVerify = command({
  name: 'plane config verify',
  summary: 'Check a signed configuration without changing anything',
  details: [
    'Whose signature counts is what the plane was told when it was enrolled, or by plane.json; elsewhere give --key and --project-id.',
  ],
  args: [file],
  flags: {
    data,
    key: {
      type: 'strings',
      value: 'VKEY',
      description: 'Verifier key of the service (C2SP vkey); repeatable',
    },
    projectId: {
      type: 'string',
      value: 'PROJECT',
      description: 'Project of the service that it has to be of',
    },
    environment: {
      type: 'string',
      choices: ['production', 'sandbox'],
      value: 'ENV',
      description: 'Environment that it has to be of; default that of the plane, or production',
    },
  },
  examples: [
    'gov plane config verify ward-7.govconfig.json',
    'gov plane config verify ward-7.govconfig.json --key gov.example/config+2f1c8a90+AUj… --project-id prj_01jq3v5k8hf7wb3c9x2m4n6p8r',
  ],
  exitCodes: { 0: 'it would be taken', 3: 'it would be refused' },
});

export const planeConfigSet = command({
  name: 'plane config set',
  summary: 'Say whose configurations a plane takes, and what they count for',
  details: [
    'A plane that is enrolled knows its service. One without a way to it is told the project and the verifier key, which gov planes bundle says.',
    'beside: the policies of the service are in force beside the plane’s own. service: only those of the service count. off: none is taken, and what came earlier is the plane’s to change.',
  ],
  flags: {
    data,
    policies: {
      type: 'string',
      choices: ['beside', 'service', 'off'],
      value: 'MODE',
      // as in src/contract/plane-config.ts
      description: 'What the policies of the service count for; default beside',
    },
    projectId: { type: 'string', value: 'PROJECT', description: 'Project of the service' },
    key: { type: 'strings', value: 'VKEY', description: 'Verifier key of the service; repeatable' },
    every: { type: 'duration', value: 'TIME', description: 'How often the service is asked; default 5m' },
  },
  changes: true,
  examples: [
    'gov plane config set --policies service',
    'gov plane config set --project-id prj_01jq3v5k8hf7wb3c9x2m4n6p8r --key gov.example/config+2f1c8a90+AUj…',
  ],
});

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

export const planeKeysRotate = command({
  name: 'plane keys rotate',
  summary: 'Make new keys for the log of a plane; both sign until the old ones are retired',
  details: [
    'A leaf of the log that an old and the new key sign says so. The trust file gets the new keys; give it to whoever verifies, and the new keys to witnesses, before gov plane keys retire.',
    'Where the plane is served, the process that serves it takes the new keys at once; nothing stops.',
  ],
  flags: { data },
  exitCodes: { 6: 'the keys before the last rotation still sign, or the process that serves did not answer' },
  examples: ['gov plane keys rotate --data ./gov-data'],
});

export const planeKeysRetire = command({
  name: 'plane keys retire',
  summary: 'Sign with the new keys alone; proofs of before go on being verified with the old ones',
  details: [
    'The private keys go to keys/retired, where nothing reads them. A service that the plane is enrolled with knows it by the old key until it enrols again.',
  ],
  flags: { data },
  exitCodes: { 6: 'there is one pair of keys only, or the process that serves did not answer' },
  examples: ['gov plane keys retire --data ./gov-data'],
});

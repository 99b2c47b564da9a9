/**
 * Commands of a data plane on this machine, as data; `plane-telemetry.ts` has those that report usage.
 * Tested by `test/cli/commands/plane/init.test.ts` and the other files of its folder.
 */
import { command, flag } from '../../program/spec.ts';
import { asciiFlag } from '../../program/screen-flag.ts';
import { data } from '../../program/data-flag.ts';

const file = {
  name: 'file',
  description: 'Signed configuration (gov planes bundle), or - for standard input',
} as const;

export const planeInit = command({
  name: 'plane init',
  prints:
    'created:boolean dataDir name projectId environment listen keyFile approverKeyFile:string|null agentKeyFile trustFile context:any',
  summary: 'Make a data plane: directory, keys, configuration and a context for it',
  flags: {
    data: flag.text('DIR', 'Data directory to make', { required: true }),
    name: flag.text('NAME', 'Name of the plane and its context; default: that of the directory'),
    listen: flag.text('HOST:PORT', 'Address to serve at; default: 127.0.0.1:7460'),
    metricsListen: flag.text('HOST:PORT', 'Address of the metrics, or off'),
    environment: flag.text('ENV', 'Environment of its keys; default: production', {
      choices: ['production', 'sandbox'],
    }),
    presence: flag.text(
      'HOW',
      'none: a key file approves what agents ask for; default signed: a person signs',
      {
        choices: ['signed', 'none'],
      },
    ),
  },
  examples: ['gov plane init --data ./gov-data'],
});

export const planeServe = command({
  name: 'plane serve',
  prints: 'none',
  summary: 'Serve a data plane until a signal stops it',
  flags: {
    data,
    init: flag.on(
      'First make the plane where the directory has none, as gov plane init does; adds no context',
    ),
    listen: flag.text('HOST:PORT', 'Address to serve at instead of the configured one'),
    metricsListen: flag.text('HOST:PORT', 'Address of the metrics, or off'),
    logLevel: flag.text('LEVEL', 'Lowest level to log; default: info'),
    tlsCert: flag.text('FILE', 'Serve over TLS with this certificate and its chain (PEM)'),
    tlsKey: flag.text('FILE', 'Its private key (PEM), a file that only its owner can read'),
    tlsClientCa: flag.text('FILE', 'Require a client certificate of these authorities (PEM)'),
    witness: flag.list(
      'VKEY@URL',
      'Witness that cosigns checkpoints, instead of those in plane.json; repeatable',
    ),
    rebuildHeads: flag.on('Rebuild a lost heads.db from gov.db, which must be the newest copy'),
  },
  exitCodes: { 0: 'a signal stopped it', 6: 'another process serves it', 74: 'a disk error stopped it' },
  ownsSignals: true,
  examples: ['gov plane serve', 'gov plane serve --init --data /var/lib/gov/plane'],
});

export const planeStop = command({
  name: 'plane stop',
  prints: 'dataDir result pid:integer|null',
  summary: 'Stop the process that serves a data plane on this machine, and wait until it has ended',
  details: [
    'Sends SIGTERM to the process that holds the lock of the directory, and to no other. The plane answers running requests first. --timeout sets how long gov waits; default: 30s.',
    'A plane that systemd serves: systemctl stop gov-plane, because systemd may start it again.',
  ],
  flags: {
    data,
    force: flag.on('Kill the process (SIGKILL) if it serves after the time; no acknowledged write is lost'),
  },
  examples: ['gov plane stop', 'gov plane stop --data ./gov-data --timeout 10s'],
  exitCodes: {
    0: 'no process serves it any more, or none did',
    4: 'the process belongs to another user',
    6: 'another process than a serving plane uses the directory',
    8: 'the process still serves at the end of --timeout',
  },
});

export const planeStatus = command({
  name: 'plane status',
  prints:
    'state dataDir:string|null baseUrl pid:integer|null version:string|null startedAt:string|null configHash:string|null chain:object|null treeSize:integer|null databaseBytes:integer|null disk:object|null telemetry:object|null contentCapture:any integrity:object|null drills:any queueDepth:integer|null reasons:array',
  summary: 'Show whether a data plane serves, and its state',
  details: ['--watch is gov top for this plane; into a pipe it prints one JSON object per second.'],
  flags: {
    data,
    watch: flag.on('Watch on a screen; ? shows the keys'),
    serving: flag.on('Exit 0 if it serves, also degraded or blocked; for the health check of a container'),
    ascii: asciiFlag,
  },
  examples: ['gov plane status', 'gov plane status -o json', 'gov plane status --watch'],
  exitCodes: {
    0: 'it serves and writes are durable; with --serving: it serves',
    3: 'it serves but is degraded or blocked',
    10: 'it does not serve',
  },
});

export const planeConfigShow = command({
  name: 'plane config show',
  prints: '=getConfigBundle',
  summary: 'Show the current configuration from the service: version, hash, policies',
  details: ['gov asks a serving plane; otherwise it reads the data directory.'],
  flags: { data },
  examples: ['gov plane config show', 'gov plane config show -o json | jq -r .bundleHash'],
  exitCodes: { 3: 'the plane refuses the newest one of the service', 5: 'the plane has none' },
});

export const planeConfigApply = command({
  name: 'plane config apply',
  prints: '=applyConfigBundle | taken:boolean reason detail',
  summary: 'Apply a signed configuration from a file, on a plane that cannot reach its service',
  details: [
    'gov first checks signature, project, version and every policy; the version must be newer than the current one. It applies all or nothing: after a refusal the current configuration stays.',
    'A serving plane applies it at once; another one when it starts.',
  ],
  args: [file],
  flags: {
    data,
    older: flag.on('Accept an older version, for a service restored from a backup'),
  },
  changes: true,
  examples: ['gov plane config apply ward-7.govconfig.json'],
  exitCodes: { 3: 'the plane refuses it; the current one stays' },
});

export const planeConfigVerify = command({
  name: 'plane config verify',
  prints:
    'taken:boolean bundleVersion:integer bundleHash projectId environment issuedAt signedBy policies:integer findings:integer | taken:boolean reason detail',
  summary: 'Check a signed configuration, and change nothing',
  details: ['The enrolment or plane.json names the trusted key. Elsewhere give --key and --project-id.'],
  args: [file],
  flags: {
    data,
    key: flag.list('VKEY', 'Verifier key of the service (C2SP vkey); repeatable'),
    projectId: flag.text('PROJECT', 'Expected project of the service'),
    environment: flag.text('ENV', 'Expected environment; default: that of the plane, or production', {
      choices: ['production', 'sandbox'],
    }),
  },
  examples: [
    'gov plane config verify ward-7.govconfig.json',
    'gov plane config verify ward-7.govconfig.json --key gov.example/config+2f1c8a90+AUj… --project-id prj_01jq3v5k8hf7wb3c9x2m4n6p8r',
  ],
  exitCodes: { 0: 'a plane would accept it', 3: 'a plane would refuse it' },
});

export const planeConfigSet = command({
  name: 'plane config set',
  prints: 'policies? projectId? keys?:array intervalSeconds?:integer maxAgeSeconds?:integer',
  summary: 'Set whose configurations a plane accepts, and how its policies combine',
  details: [
    'An enrolled plane knows its service. For a plane that cannot reach its service, set project and verifier key; gov planes bundle prints both.',
    'beside: the policies of service and plane both apply. service: only those of the service apply. off: the plane accepts no configuration, and may change the policies it has.',
  ],
  flags: {
    data,
    policies: {
      type: 'string',
      choices: ['beside', 'service', 'off'],
      value: 'MODE',
      // the same words as in src/contract/plane-config.ts
      description: 'How the policies of the service apply; default: beside',
    },
    projectId: flag.text('PROJECT', 'Project of the service'),
    key: flag.list('VKEY', 'Verifier key of the service; repeatable'),
    every: flag.duration('TIME', 'Interval of asking the service; default: 5m'),
    maxAge: flag.duration('TIME', 'Refuse evaluations when the configuration is older; default: no limit'),
    anyAge: flag.on('Remove the limit of --max-age'),
  },
  changes: true,
  examples: [
    'gov plane config set --policies service',
    'gov plane config set --max-age 24h',
    'gov plane config set --project-id prj_01jq3v5k8hf7wb3c9x2m4n6p8r --key gov.example/config+2f1c8a90+AUj…',
  ],
});

export const planeBackup = command({
  name: 'plane backup',
  prints:
    'out bytes:integer schema createdAt version projectId withKeys:boolean logs:array files:array left:array removed:array',
  summary: 'Copy a data plane to a directory, also while it serves, and verify the copy',
  details: [
    'The copy shows one moment: log, database, configuration and trust, with a signed manifest of sizes, hashes and ' +
      'the newest checkpoints. It has no keys without --with-keys: with them, others can sign.',
  ],
  flags: {
    data,
    out: flag.text('DIR', 'Directory to make', { short: 'O', required: true }),
    withKeys: flag.on('Also copy keys/, the keys of subjects and the local API keys; keep the copy secret'),
  },
  exitCodes: { 6: 'the directory is not empty, or the plane itself is an older copy' },
  examples: [
    'gov plane backup -O /backup/2026-11-20',
    'gov plane backup --data /var/lib/gov -O ./copy --with-keys',
  ],
});

export const planeRestore = command({
  name: 'plane restore',
  prints:
    'verdict dataDir createdAt projectId withKeys:boolean logs:array known:array unopened:integer lacksSubjects:boolean',
  summary: 'Make a data plane from a backup, and prove that it is not behind a signed checkpoint',
  details: [
    'Give the newest known checkpoints: files that clients or a witness stored, a receipt of the service, or the ' +
      'heads.db of the lost machine. If one is beyond the backup, the new plane never signs on that log, because ' +
      'the owner of the checkpoint could prove two histories. The output names the missing entries.',
  ],
  args: [{ name: 'from', description: 'Directory of the backup' }],
  flags: {
    data: flag.text('DIR', 'Data directory to make', { required: true }),
    lastCheckpoint: flag.list(
      'FILE|-',
      'Newest signed checkpoint from another machine, or a stored heads.db; repeatable',
    ),
    unproven: flag.on('No other checkpoint is known; proves nothing'),
    trust: flag.text('FILE', 'Trust file of the plane instead of the one in the backup'),
  },
  exitCodes: {
    0: 'restored, with all entries of the checkpoints',
    3: 'restored, but behind a checkpoint: it does not serve',
    6: 'the directory is not empty, or a checkpoint belongs to another history',
  },
  examples: [
    'gov plane restore /backup/2026-11-20 --data ./gov-data --last-checkpoint newest.txt',
    'gov plane restore ./copy --data ./gov-data --unproven',
  ],
});

export const planeDoctor = command({
  name: 'plane doctor',
  prints: 'ok:boolean checks:array',
  summary: 'Check whether a data plane can serve, and show what to do if it cannot',
  flags: {
    data,
    listen: flag.text('HOST:PORT', 'Address to check instead of the configured one'),
    metricsListen: flag.text('HOST:PORT', 'Address of the metrics, or off'),
  },
  exitCodes: { 0: 'no check failed; there may be warnings', 3: 'a check failed' },
  examples: ['gov plane doctor', 'gov plane doctor --data /var/lib/gov -o json'],
});

export const planeKeysRotate = command({
  name: 'plane keys rotate',
  prints: 'change keys:array leaf:integer inForce:array retired:array trustFile warning:string|null',
  summary: 'Make new keys for the log of a plane; old and new sign until gov plane keys retire',
  details: [
    'A leaf of the log, signed by both keys, records the change. The trust file gets the new keys. Before gov plane keys retire, give the trust file to all verifiers and the new keys to witnesses.',
    'A serving process uses the new keys at once, without a restart.',
  ],
  flags: { data },
  exitCodes: { 6: 'the keys before the last rotation still sign, or the serving process did not answer' },
  examples: ['gov plane keys rotate --data ./gov-data'],
});

export const planeKeysRetire = command({
  name: 'plane keys retire',
  prints: 'change keys:array leaf:integer inForce:array retired:array trustFile warning:string|null',
  summary: 'Sign with the new keys only; the old keys still verify earlier proofs',
  details: [
    'The private keys move to keys/retired, where no process reads them. The service of an enrolled plane knows it by the old key until it enrols again.',
  ],
  flags: { data },
  exitCodes: { 6: 'there is only one pair of keys, or the serving process did not answer' },
  examples: ['gov plane keys retire --data ./gov-data'],
});

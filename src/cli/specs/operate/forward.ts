/** Commands of the noun forward, as data. Tested by `test/cli/commands/forward.test.ts`. */
import { data } from '../../program/data-flag.ts';
import { command, flag } from '../../program/spec.ts';

const name = { name: 'name', description: 'Name of the target, such as siem' } as const;

/** Where an object store is, and who asks it. */
const storeFlags = {
  ca: flag.text('FILE', 'Certificates that may sign that of the receiver, PEM'),
  secretFile: flag.text('FILE', 'File with the token or secret access key'),
  secretEnv: flag.text('VARIABLE', 'Variable with it, for the serving process'),
  endpoint: flag.text('URL', 'Object store; default: AWS'),
  region: flag.text('REGION', 'Region of the object store'),
  accessKeyId: flag.text('ID', 'Access key id of the object store'),
} as const;

export const forwardAdd = command({
  name: 'forward add',
  prints:
    'name to format? ocsfVersion? from? eventTypes?:array decisions?:array projects?:array content? ca? cert? key? serverName? maxBytes?:integer confirm? shape? header?:any secretFile? secretEnv? endpoint? region? accessKeyId? everySeconds?:integer',
  summary: 'Add a receiver to which a plane or service copies its log',
  details: [
    'ADDRESS is syslog+tls://HOST:PORT, syslog+tcp://HOST:PORT, https://…, http://… or s3://BUCKET/PREFIX. A serving process sends after its next start.',
    'A secret comes from a file that only its owner reads, or from a variable of the serving process: never from a flag.',
    'Delivery is at least once. Origin and leaf index of a record make a repetition recognizable.',
  ],
  args: [name],
  flags: {
    data,
    to: flag.text('ADDRESS', 'Where the records go', { required: true }),
    format: flag.text('FORMAT', 'Format of records; default: syslog for syslog, else json', {
      choices: ['json', 'ocsf', 'cef', 'syslog'],
    }),
    ocsfVersion: flag.text('VERSION', 'Version of the OCSF schema; default: 1.9.0', {
      choices: ['1.9.0', '1.8.0'],
    }),
    from: flag.text('WHERE', 'First record: the next one, or the oldest one; default: now', {
      choices: ['now', 'start'],
    }),
    eventType: flag.list('TYPE', 'Only records of this type; tool.* matches its start; repeatable', {
      separator: ',',
    }),
    decision: flag.list('DECISION', 'Only records with this decision; repeatable', {
      choices: ['allow', 'warn', 'escalate', 'deny', 'flag', 'block', 'approved', 'denied'],
      separator: ',',
    }),
    onlyProject: flag.list('PROJECT', 'Of a service: only this project; repeatable'),
    noContent: flag.on('Leave out metadata of events and members of other leaves'),
    ca: storeFlags.ca,
    cert: flag.text('FILE', 'Client certificate, PEM'),
    key: flag.text('FILE', 'Its private key, PEM'),
    serverName: flag.text('NAME', 'Name in the certificate of the receiver'),
    maxBytes: flag.integer('BYTES', 'Longest syslog message; default: 8192'),
    noConfirm: flag.on('For a syslog receiver that never ends a connection: do not wait for it'),
    shape: flag.text('SHAPE', 'Body over HTTP; default: ndjson', {
      choices: ['ndjson', 'array', 'splunk', 'elastic'],
    }),
    header: flag.text('NAME', 'HTTP header of the secret; default: Authorization'),
    secretFile: storeFlags.secretFile,
    secretEnv: storeFlags.secretEnv,
    endpoint: storeFlags.endpoint,
    region: storeFlags.region,
    accessKeyId: storeFlags.accessKeyId,
    every: flag.duration('TIME', 'Longest time between two objects; default: 60s'),
  },
  changes: true,
  exitCodes: { 6: 'a target has this name' },
  examples: [
    'gov forward add siem --to syslog+tls://siem.example:6514 --format cef --ca ca.pem',
    'gov forward add splunk --to https://splunk.example:8088/services/collector/event --shape splunk --secret-file hec.token',
    'gov forward add denials --to https://siem.example/in --format ocsf --decision deny,block --from start',
  ],
});

export const forwardList = command({
  name: 'forward list',
  prints:
    'forwards[] name to format from eventTypes:array|null decisions:array|null content:any projects:any',
  summary: 'List the configured targets of a plane or service on this machine',
  flags: { data },
  examples: ['gov forward list', 'gov forward list --data /var/lib/gov -o json'],
});

export const forwardTest = command({
  name: 'forward test',
  prints: 'name to id ok:boolean said durationMs:number',
  summary: 'Send one record that is marked as a test, and show what came back',
  details: [
    'Sends from this command, not from the serving process, so also before the target is in use. The position stays as it is.',
  ],
  args: [name],
  flags: { data },
  exitCodes: { 3: 'the receiver did not take the record' },
  examples: ['gov forward test siem'],
});

export const forwardRemove = command({
  name: 'forward remove',
  prints: 'none',
  summary: 'Remove a target; what it has stays there',
  args: [name],
  flags: { data },
  changes: true,
  examples: ['gov forward remove siem --yes'],
});

export const forwardVerify = command({
  name: 'forward verify',
  prints: 'ok:boolean chains:array problems:array',
  summary: 'Verify what a target stored in an object store: the chain of manifests and each object',
  details: [
    'PLACE is s3://BUCKET/PREFIX, or a folder with a copy of it; --target NAME takes the address and the secret of a configured target. Without --target it needs no plane. For s3:// the defaults are AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, with AWS_SESSION_TOKEN for temporary credentials.',
    'Each manifest has to name the hash of the one before, the same log and the next leaves. Each object has to have the named length, SHA-256 and number of records. Objects that no manifest names count for nothing.',
    'Manifests are not signed, and a chain cannot show that its newest part is missing. Keep the head that the command prints outside of the store. --contains HEAD then fails where that manifest was removed or rewritten.',
  ],
  args: [{ name: 'place', description: 'Folder, or s3://BUCKET/PREFIX', optional: true }],
  flags: {
    target: flag.text('NAME', 'Verify this configured target'),
    data,
    origin: flag.list('ORIGIN', 'This log has to be there, and no log that is not named; repeatable'),
    contains: flag.list(
      'HASH',
      'A chain has to have the manifest of this hash, such as an earlier head; repeatable',
    ),
    ca: storeFlags.ca,
    secretFile: storeFlags.secretFile,
    secretEnv: { ...storeFlags.secretEnv, description: 'Variable with the secret access key' },
    endpoint: storeFlags.endpoint,
    region: storeFlags.region,
    accessKeyId: storeFlags.accessKeyId,
  },
  exitCodes: {
    0: 'whole',
    3: 'a manifest or an object is missing or changed, or is of another log',
    4: 'the object store refused the credentials',
    5: 'there is no such folder or bucket, or it has no manifest',
    10: 'could not read the object store',
  },
  examples: [
    'gov forward verify --target archive --data /var/lib/gov',
    'gov forward verify s3://audit-bucket/gov --region eu-central-1 --origin gov.local/prj_x/audit',
    'gov forward verify ./copy-of-the-bucket --contains sha256:2f1c8a90…',
  ],
});

/**
 * Commands that enrol a data plane with a service and report its usage, as data.
 * Tested by `test/cli/commands/plane/telemetry.test.ts`.
 */
import { command, flag } from '../../program/spec.ts';
import { data } from '../../program/data-flag.ts';

export const planeEnroll = command({
  name: 'plane enroll',
  prints:
    'service:string|null dataPlaneId projectId environment cosignerKey configKey:string|null reportIntervalSeconds:integer caFile:string|null certificateFile:string|null certificateKeyFile:string|null enrolledAt mode clockAheadSeconds?:number keyLast4 enrolment?:object',
  summary: 'Enrol a data plane with a service, and report usage counts to it',
  details: [
    'The plane sends counts, times and hashes only: gov plane telemetry schema prints their schema, gov plane telemetry show the bytes. A serving plane starts reporting within seconds.',
    'The plane reaches the service through HTTPS_PROXY, HTTP_PROXY and NO_PROXY; --cacert names its authority. gov stores the paths of certificates, and reads the files when the plane starts.',
    'A plane that cannot reach the service enrols by file: --request writes a request, gov planes enroll answers it, --answer reads the answer. Neither file contains the token or a secret in the clear.',
  ],
  flags: {
    data,
    service: flag.text('URL', 'Address of the service, such as https://gov.example.com'),
    request: flag.text('FILE', 'Write a request for gov planes enroll to this file; - for standard output'),
    answer: flag.text('FILE', 'Read the answer of gov planes enroll; - for standard input'),
    token: flag.text(
      'TOKEN',
      'One-time enrolment token; others on this machine can see it, unlike GOV_ENROLMENT_TOKEN',
    ),
    tokenFile: flag.text('FILE', 'File with the token, which only its owner can read; - for standard input'),
    clientCert: flag.text('FILE', 'Certificate of this plane (PEM), for mutual TLS'),
    clientKey: flag.text('FILE', 'Its private key (PEM)'),
    mode: {
      type: 'string',
      choices: ['auto', 'manual-file', 'off'],
      value: 'MODE',
      // the same words as in plane/service/enrolment.ts
      description:
        'Who sends reports: the plane (auto), you with gov plane usage export (manual-file), nobody (off); default: auto, and manual-file with --answer',
    },
    force: flag.on('Replace an enrolment'),
  },
  exitCodes: { 6: 'the plane is enrolled already' },
  examples: [
    'gov plane enroll --service https://gov.example.com --token-file token',
    'gov plane enroll --service https://gov.example.com --token-file token --cacert ca.pem --client-cert plane.pem --client-key plane.key',
    'gov plane enroll --request request.json --token-file token',
    'gov plane enroll --answer answer.json',
  ],
});

export const planeRotateCredentials = command({
  name: 'plane rotate-credentials',
  prints: 'dataPlaneId keyLast4 previousValidUntil:string|null',
  summary: 'Get a new hybrid key and signing secret; the old ones work for a while',
  flags: {
    data,
    overlap: flag.duration('TIME', 'Time that the old ones still work; default and maximum: 24h'),
  },
  examples: ['gov plane rotate-credentials', 'gov plane rotate-credentials --overlap 1h'],
});

export const planeTelemetryShow = command({
  name: 'plane telemetry show',
  prints: 'any',
  summary: 'Print the exact bytes of waiting or sent messages',
  details: [
    'One message per line, as its signature covers it. With --last and --all the responses of the service follow.',
  ],
  flags: {
    data,
    pending: flag.on('Waiting messages; the default'),
    last: flag.on('The newest report sent, its receipt, and the response to its challenge'),
    all: flag.on('The same for every report, oldest first, for an auditor'),
  },
  examples: [
    'gov plane telemetry show --pending',
    'gov plane telemetry show --last',
    'gov plane telemetry show --all > telemetry.ndjson',
  ],
});

export const planeTelemetrySend = command({
  name: 'plane telemetry send',
  prints: 'settled:integer refused:integer reportsWaiting:integer challengesOpen:integer failure:any',
  summary: 'Create a report now, and send all waiting messages',
  details: [
    'A serving plane reports by itself. Use this at the end of a month, before an audit, or after an outage of the service. Events of the last second may follow in the next report.',
  ],
  flags: { data },
  exitCodes: {
    3: 'the service refused a message; gov plane telemetry show --last prints it',
    4: 'the service refused the credentials: the plane was revoked, or enrolled elsewhere',
    6: 'the mode is manual-file or off',
    10: 'could not reach the service; waiting messages leave once it is back',
  },
  examples: ['gov plane telemetry send'],
});

export const planeTelemetrySchema = command({
  name: 'plane telemetry schema',
  prints: 'any',
  summary: 'Print the JSON Schema of all messages of a plane',
  examples: ['gov plane telemetry schema'],
});

export const planeUsageExport = command({
  name: 'plane usage export',
  prints: 'any',
  summary: 'Write signed usage reports to a file, for a service that the plane cannot reach',
  details: [
    'NDJSON: one signed message per line, for gov usage import. Each export repeats messages without a receipt, which is harmless.',
  ],
  flags: {
    data,
    out: flag.text('FILE', 'File to write; default: standard output', { short: 'O' }),
  },
  exitCodes: { 6: 'the mode is off' },
  examples: ['gov plane usage export -O usage.ndjson'],
});

export const planeUsageReceipts = command({
  name: 'plane usage receipts',
  prints: 'accepted:integer refused:integer unsettled:integer challenges:integer held:string|null',
  summary: 'Read the service’s receipts for exported reports',
  details: ['Receipts bring challenges; the next gov plane usage export answers them.'],
  args: [{ name: 'file', description: 'File of receipts (NDJSON), or - for standard input' }],
  flags: { data },
  examples: ['gov plane usage receipts receipts.ndjson'],
});

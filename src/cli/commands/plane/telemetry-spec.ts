/** Hand-made commands of a plane that reports usage to a service, as data. */
import { command } from '../../program/command.ts';

const data = {
  type: 'string',
  value: 'DIR',
  description: 'Data directory; default that of the chosen context',
} as const;

export const planeEnroll = command({
  name: 'plane enroll',
  summary: 'Enrol a data plane with a service, to which it then reports counts',
  details: [
    'What crosses is counts, times and hashes: gov plane telemetry schema says which, gov plane telemetry show prints the bytes. A plane that is served takes the enrolment up within seconds.',
    'The service is reached through HTTPS_PROXY, HTTP_PROXY and NO_PROXY; --cacert names its authority. Paths of certificates are kept, and read again when the plane starts.',
    'A plane without a way to the service asks by file: --request writes what is carried there, gov planes enroll answers it, --answer takes the answer in. Neither file has the token or a secret in the clear.',
  ],
  flags: {
    data,
    service: {
      type: 'string',
      value: 'URL',
      description: 'Address of the service, such as https://gov.example.com',
    },
    request: {
      type: 'string',
      value: 'FILE',
      description: 'Ask by file: write the request for gov planes enroll, or - for standard output',
    },
    answer: {
      type: 'string',
      value: 'FILE',
      description: 'Take in the answer of gov planes enroll, or - for standard input',
    },
    token: {
      type: 'string',
      value: 'TOKEN',
      description: 'One-time enrolment token; others on this machine can see it: better GOV_ENROLMENT_TOKEN',
    },
    tokenFile: {
      type: 'string',
      value: 'FILE',
      description: 'File with the token, which only its owner may read, or - for standard input',
    },
    clientCert: {
      type: 'string',
      value: 'FILE',
      description: 'Certificate of this plane (PEM), for mutual TLS',
    },
    clientKey: { type: 'string', value: 'FILE', description: 'Its private key (PEM)' },
    mode: {
      type: 'string',
      choices: ['auto', 'manual-file', 'off'],
      value: 'MODE',
      // as in plane/enrolment/stored.ts
      description:
        'How reports leave: by themselves, by gov plane usage export, or not; default auto, and manual-file with --answer',
    },
    force: { type: 'boolean', description: 'Replace an enrolment' },
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
  summary: 'Get a new hybrid key and signing secret; the ones before work on for a while',
  flags: {
    data,
    overlap: {
      type: 'duration',
      value: 'TIME',
      description: 'How long the ones before work on; default and most 24h',
    },
  },
  examples: ['gov plane rotate-credentials', 'gov plane rotate-credentials --overlap 1h'],
});

export const planeTelemetryShow = command({
  name: 'plane telemetry show',
  summary: 'Print the exact bytes of what waits to be sent, or of what was sent last',
  details: [
    'One message a line, as its signature covers it. With --last and --all the answers of the service follow.',
  ],
  flags: {
    data,
    pending: { type: 'boolean', description: 'What waits; the default' },
    last: {
      type: 'boolean',
      description: 'The newest report that left, its receipt, and the answer to its challenge',
    },
    all: { type: 'boolean', description: 'The same of every report, oldest first: what an auditor checks' },
  },
  examples: [
    'gov plane telemetry show --pending',
    'gov plane telemetry show --last',
    'gov plane telemetry show --all > telemetry.ndjson',
  ],
});

export const planeTelemetrySend = command({
  name: 'plane telemetry send',
  summary: 'Report now, and send what waits',
  details: [
    'A serving plane reports by itself; this is for an end of a month, an audit, or after the service was away. What was recorded in the last second may have to wait for the next report.',
  ],
  flags: { data },
  exitCodes: {
    3: 'the service refused a message, which gov plane telemetry show --last prints',
    4: 'the credentials are refused: the plane was revoked, or enrolled elsewhere',
    6: 'the mode is manual-file or off',
    10: 'the service was not reached: what waits goes by itself when it is',
  },
  examples: ['gov plane telemetry send'],
});

export const planeTelemetrySchema = command({
  name: 'plane telemetry schema',
  summary: 'Print the JSON Schema of everything that a plane sends',
  examples: ['gov plane telemetry schema'],
});

export const planeUsageExport = command({
  name: 'plane usage export',
  summary: 'Write out signed usage reports, for a service that is reached by hand',
  details: [
    'NDJSON: one signed message a line, which gov usage import takes. A message is written out again until its receipt was taken in, which does no harm.',
  ],
  flags: {
    data,
    out: { type: 'string', value: 'FILE', short: 'O', description: 'File to write; default standard output' },
  },
  exitCodes: { 6: 'the mode is off' },
  examples: ['gov plane usage export -O usage.ndjson'],
});

export const planeUsageReceipts = command({
  name: 'plane usage receipts',
  summary: 'Take in the receipts that a service gave for what was exported',
  details: ['Challenges come with receipts; the next gov plane usage export answers them.'],
  args: [{ name: 'file', description: 'File of receipts (NDJSON), or - for standard input' }],
  flags: { data },
  examples: ['gov plane usage receipts receipts.ndjson'],
});

/** Schemas of reports and of their deliveries, which reports and schedules share (contract L1-L9). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { clientId, exact, nullable, oneOf, serviceId, sha256Hash, timestamp } from './shapes.ts';
import { namePattern } from './text-patterns.ts';

export const reportFormats = ['pdf', 'csv', 'json'] as const;
export type ReportFormat = (typeof reportFormats)[number];
export const reportPapers = ['A4', 'Letter'] as const;
export type ReportPaper = (typeof reportPapers)[number];
export const reportStatuses = ['queued', 'processing', 'completed', 'failed', 'expired'] as const;
export type ReportStatus = (typeof reportStatuses)[number];
export const deliveryChannels = ['webhook', 'email', 'file'] as const;
export const deliveryStatuses = ['pending', 'processing', 'delivered', 'failed', 'cancelled'] as const;
const artifactStatuses = ['pending', 'processing', 'completed', 'failed', 'expired'] as const;

export const executionId = serviceId('rex');
export const templateId = Type.String({
  minLength: 1,
  maxLength: limits.identifierChars,
  description: 'Id of a report template; GET /reporting/templates lists them',
});
export const formatList = Type.Array(oneOf(reportFormats), {
  minItems: 1,
  maxItems: limits.reportFormats,
  uniqueItems: true,
  description: 'Default: those of the template, which is pdf for a built-in one',
});
export const reportTitle = Type.String({
  minLength: 1,
  maxLength: limits.reportTitleChars,
  pattern: namePattern,
  description: 'Default: the title of the template',
});
export const reportZone = Type.String({
  minLength: 1,
  maxLength: limits.reportZoneChars,
  description: 'IANA name of a time zone, in which times are printed; default UTC',
});
export const reportLocale = Type.String({
  minLength: 1,
  maxLength: limits.reportLocaleChars,
  description: 'BCP 47 language tag, by which numbers and dates are printed; default en',
});

export const ReportParameters = exact({
  startTime: timestamp('Start of the period, inclusive'),
  endTime: timestamp(`End of the period, inclusive; at most ${limits.reportPeriodDays} days after its start`),
  runId: Type.Optional(clientId('Only this run')),
  projectIds: Type.Optional(
    Type.Array(serviceId('prj'), {
      minItems: 1,
      maxItems: 1,
      description: 'The project of the call, which is the default: a report covers one log',
    }),
  ),
});
export type ReportParameters = Static<typeof ReportParameters>;

export const DeliveryInput = exact({
  channel: oneOf(deliveryChannels),
  target: Type.String({
    minLength: 1,
    maxLength: limits.reportTargetChars,
    description: 'An https URL, an e-mail address, or a file name below the configured folder of a plane',
  }),
  format: oneOf(reportFormats),
  secret: Type.Optional(
    Type.String({
      pattern: '^whsec_[A-Za-z0-9+/]{32,86}={0,2}$',
      maxLength: limits.deliverySecretChars,
      description:
        'Of a webhook, which requires it: whsec_ and 24 to 64 bytes in base64. It signs each message as Standard Webhooks ' +
        'defines. No answer shows it',
    }),
  ),
});
export type DeliveryInput = Static<typeof DeliveryInput>;

export const Delivery = Type.Object({
  deliveryId: serviceId('dlv'),
  channel: oneOf(deliveryChannels),
  target: Type.String({ description: 'Masked' }),
  format: oneOf(reportFormats),
  status: oneOf(deliveryStatuses),
  attempts: Type.Integer({ minimum: 0 }),
  maxAttempts: Type.Integer({ minimum: 1 }),
  lastAttemptAt: nullable(timestamp('When it was last tried')),
  nextAttemptAt: nullable(timestamp('When it is tried again')),
  lastStatusCode: nullable(Type.Integer({ description: 'HTTP status or SMTP reply code' })),
  errorSummary: nullable(Type.String()),
});
export type Delivery = Static<typeof Delivery>;

/** The text of a check or a figure, as `core/reports/model.ts` has it. */
const Check = Type.Object({
  name: Type.String(),
  status: oneOf(['pass', 'fail', 'not_shown']),
  detail: Type.String(),
});
const Cell = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);
const Figure = Type.Object({
  name: Type.String(),
  label: Type.String(),
  value: Cell,
  kind: Type.String({ description: 'text, number, time, duration, hash or status' }),
});
const Column = Type.Object({
  name: Type.String(),
  title: Type.String(),
  kind: Type.String({ description: 'text, number, time, duration, hash or status' }),
});

export const ReportSummary = Type.Object({
  checks: Type.Array(Check),
  figures: Type.Array(Figure),
  rowCount: Type.Integer({ minimum: 0, description: 'Rows of the first table' }),
  dataHash: sha256Hash,
  log: Type.Object({
    origin: Type.String(),
    treeSize: Type.Integer({ minimum: 0 }),
    rootHash: Type.String({ description: 'RFC 6962 root at treeSize, base64' }),
  }),
});
export type ReportSummary = Static<typeof ReportSummary>;

export const ReportSignature = Type.Object(
  {
    payload: Type.String({ description: 'in-toto Statement v1, base64; its subject is the data hash' }),
    payloadType: Type.String(),
    signatures: Type.Array(Type.Object({ keyid: Type.String(), sig: Type.String() })),
  },
  {
    description:
      'DSSE envelope: the log signs the data. Null until the report is complete, and for reports of earlier versions',
  },
);
export type ReportSignature = Static<typeof ReportSignature>;

export const ReportData = Type.Object({
  columns: Type.Array(Column),
  rows: Type.Array(Type.Array(Cell), { maxItems: limits.reportDataRows }),
  truncated: Type.Boolean({ description: `Whether there are more than ${limits.reportDataRows} rows` }),
});
export type ReportData = Static<typeof ReportData>;

const Artifact = Type.Object({
  artifactId: serviceId('art'),
  format: oneOf(reportFormats),
  status: oneOf(artifactStatuses),
  sizeBytes: nullable(Type.Integer({ minimum: 0 })),
  sha256: nullable(sha256Hash),
  createdAt: nullable(timestamp('When it was made')),
  expiresAt: nullable(timestamp('When it is removed')),
  errorSummary: nullable(Type.String()),
});
export type ReportArtifact = Static<typeof Artifact>;

export const ReportExecution = Type.Object({
  executionId,
  reportTemplateId: Type.String(),
  title: Type.String(),
  status: oneOf(reportStatuses),
  parameters: ReportParameters,
  formats: Type.Array(oneOf(reportFormats)),
  timezone: Type.String(),
  locale: Type.String(),
  createdAt: timestamp('When it was requested'),
  startedAt: nullable(timestamp('When its last attempt began')),
  completedAt: nullable(timestamp('When it completed or failed')),
  expiresAt: nullable(timestamp('When its artifacts are removed')),
  errorSummary: nullable(Type.String()),
  scheduleId: nullable(serviceId('sch')),
  summary: nullable(ReportSummary),
  artifacts: Type.Array(Artifact),
  deliveries: Type.Array(Delivery),
});
export type ReportExecution = Static<typeof ReportExecution>;

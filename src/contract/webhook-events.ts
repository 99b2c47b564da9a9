/** The kinds of webhook events and the members of their data (contract N1, N2, N6). Payloads contain ids, no content. */
import { Type } from 'typebox';
import type { Static, TProperties } from 'typebox';
import { limits } from './limits.ts';
import { nullable, oneOf, timestamp } from './shapes.ts';

const id = (description: string) => Type.String({ description });
const runId = id('Run of the agent');
const count = (description: string) => Type.Integer({ minimum: 0, description });
const maybe = Type.Optional;

const quota = {
  meter: id('Metered type, such as audit_event'),
  month: id('Calendar month in UTC, such as 2026-11'),
  limit: count('Units of the month'),
  used: count('Units used when it happened'),
};
const job = { jobId: id('Job'), jobType: id('proof or replay'), runId };
const replay = {
  replayId: id('Replay'),
  runId,
  driftCount: count('Differences from the expected snapshot'),
  mismatchCount: count('Steps with another outcome'),
};
const risk = { decisionId: id('Risk decision'), runId };
const policy = {
  policyId: id('Policy'),
  version: count('Version of the policy'),
  from: nullable(id('Status before')),
  to: id('Status after'),
};
const exported = { exportId: id('Export') };
const report = { executionId: id('Execution of the report') };
const key = { keyId: id('API key') };
const plane = { dataPlaneId: maybe(id('Data plane; absent for the log of the service itself')) };
const approval = { approvalId: id('Approval'), evaluationId: id('Evaluation that escalated'), runId };

interface EventKind {
  /** When it happens: one sentence. */
  readonly when: string;
  readonly data: TProperties;
}

export const webhookEvents = {
  'quota.threshold_reached': {
    when: 'The use of a quota passed a percentage of `PUT /metering/thresholds`, once a month each.',
    data: { ...quota, percent: count('The percentage') },
  },
  'quota.exceeded': {
    when: 'The service refused a request over its quota, or counted it as overage. Once a month for each quota.',
    data: quota,
  },
  'job.completed': { when: 'A proof or replay that ran as a job completed.', data: job },
  'job.failed': { when: 'A proof or replay that ran as a job failed for good.', data: job },
  'job.cancelled': {
    when: 'Somebody cancelled a proof or replay that ran as a job, or waited to.',
    data: job,
  },
  'proof.completed': { when: 'A compliance proof was made.', data: { proofId: id('Proof'), runId } },
  'replay.completed': { when: 'A replay completed.', data: replay },
  'replay.drift_detected': { when: 'A replay found drift or another outcome.', data: replay },
  'risk.escalated': { when: 'The risk router escalated a step.', data: risk },
  'risk.blocked': { when: 'The risk router blocked a step.', data: risk },
  'policy.transitioned': { when: 'A policy was published or changed its status.', data: policy },
  'policy.rolled_back': { when: 'An earlier version of a policy came into force again.', data: policy },
  'export.completed': { when: 'An export can be downloaded.', data: exported },
  'export.failed': { when: 'An export failed for good.', data: exported },
  'export.cancelled': { when: 'Somebody cancelled an export before it completed.', data: exported },
  'report.completed': { when: 'A report can be downloaded.', data: report },
  'report.failed': { when: 'A report failed for good.', data: report },
  'delivery.failed': {
    when: 'A delivery of a report failed for good. Deliveries of webhooks are in `GET /webhooks/deliveries`.',
    data: { deliveryId: id('Delivery of the report') },
  },
  'api_key.created': { when: 'An API key was created.', data: key },
  'api_key.rotated': { when: 'A new API key replaced another one.', data: key },
  'api_key.revoked': { when: 'An API key was revoked.', data: key },
  'telemetry.gap_detected': { when: 'Usage reports of a data plane are missing.', data: plane },
  'attestation.failed': { when: 'A data plane answered a challenge wrongly.', data: plane },
  'integrity.violation': {
    when: 'A stored record differs from the log, or a data plane reported another history.',
    data: plane,
  },
  'log.loss': {
    when: 'An older copy of the database took over, and the log lacks entries that it had acknowledged.',
    data: { from: count('The first lost entry'), lost: count('Number of lost entries') },
  },
  'approval.requested': {
    when: 'A policy escalated a step, and a person must decide.',
    data: { ...approval, expiresAt: timestamp('When the approval expires') },
  },
  'approval.decided': {
    when: 'A person approved or denied.',
    data: { ...approval, outcome: id('approved or denied') },
  },
} as const satisfies Readonly<Record<string, EventKind>>;

export type WebhookEventKind = keyof typeof webhookEvents;
export const webhookEventKinds = Object.keys(webhookEvents) as WebhookEventKind[];

/** The kind of a message of the test button. Endpoints cannot leave it out. */
export const testEventKind = 'webhook.test';

/** Members of `data` in every payload. */
export const sharedData = {
  projectId: id('Project'),
  sequence: Type.Integer({
    minimum: 0,
    description: 'Place of the record in the log of the project: a greater number happened later',
  }),
};

/** The body of a message. Its id is in the header `webhook-id`. */
export interface WebhookPayload {
  readonly type: WebhookEventKind | typeof testEventKind;
  /** RFC 3339. */
  readonly timestamp: string;
  readonly data: Readonly<Record<string, string | number | null>>;
}

/** `*`: all kinds, also those of later releases. */
export const eventChoices = ['*', ...webhookEventKinds] as const;

export const WebhookEvents = Type.Array(oneOf(eventChoices), {
  minItems: 1,
  maxItems: limits.webhookEvents,
  uniqueItems: true,
  description: 'Kinds of events that the endpoint gets; * for all kinds, also later ones',
});

/** The setting `webhookDefaults` of a project: values for members that a new endpoint leaves out. */
export const WebhookDefaults = Type.Object(
  {
    events: maybe(WebhookEvents),
    enabled: maybe(Type.Boolean({ description: 'Whether a new endpoint gets events at once' })),
    description: maybe(Type.String({ maxLength: limits.webhookDescriptionChars })),
  },
  {
    additionalProperties: true,
    maxProperties: limits.webhookDefaults,
    description:
      'For new webhook endpoints that leave out events, enabled or description. Other members are kept and change nothing',
  },
);
export type WebhookDefaults = Static<typeof WebhookDefaults>;

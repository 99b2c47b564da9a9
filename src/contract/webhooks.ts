/** Webhooks: endpoints that get signed messages about what happened, their history, redelivery (contract N1-N7, L10). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { resource } from './resource.ts';
import { exact, nullable, oneOf, paging, readOnly, serviceId, timestamp } from './shapes.ts';
import { httpsPattern, linePattern } from './text-patterns.ts';
import { eventChoices, testEventKind, WebhookEvents, webhookEventKinds } from './webhook-events.ts';

const disabledReasons = ['gone', 'failing'] as const;
export type DisabledReason = (typeof disabledReasons)[number];
const deliveryStatuses = ['pending', 'delivered', 'failed', 'cancelled'] as const;
export const webhookSignings = ['v1', 'v1a'] as const;
export type WebhookSigning = (typeof webhookSignings)[number];
export type WebhookDeliveryStatus = (typeof deliveryStatuses)[number];

const endpointId = serviceId('whe');
const deliveryId = serviceId('dlv');

const Endpoint = Type.Object({
  endpointId,
  url: Type.String({
    description:
      'Scheme, host and port; then /… where the address has a path or a query, which is often secret and never returned',
  }),
  events: Type.Array(oneOf(eventChoices)),
  enabled: Type.Boolean(),
  description: Type.String(),
  signing: Type.Union([Type.Literal('v1'), Type.Literal('v1a')], {
    description: 'Signatures of Standard Webhooks: v1, HMAC-SHA-256 with a secret; v1a, Ed25519',
  }),
  publicKeys: Type.Array(
    Type.Object({
      publicKey: Type.String({ pattern: '^whpk_[A-Za-z0-9+/]{43}=$' }),
      until: nullable(timestamp('When messages no longer carry its signature; null: the current key')),
    }),
    { description: 'Keys that verify messages signed with v1a, the current one first' },
  ),
  createdAt: timestamp('When it was created'),
  updatedAt: timestamp('When it was last changed'),
  failingSince: nullable(timestamp('First failure after the last success; null: the last message arrived')),
  disabledReason: nullable(
    Type.Union([Type.Literal('gone'), Type.Literal('failing')], {
      description:
        'Why the service disabled it: gone, after an answer 410; failing, after five days of failures',
    }),
  ),
});
export type WebhookEndpoint = Static<typeof Endpoint>;

const Secret = Type.Object({
  secret: nullable(
    Type.String({
      pattern: '^whsec_[A-Za-z0-9+/]{43}=$',
      description: 'Key of v1; returned only this once. Null with v1a, whose public key is in the endpoint',
    }),
  ),
  endpoint: Endpoint,
});

const Delivery = Type.Object({
  deliveryId,
  eventId: Type.String({ description: 'Header webhook-id, the same in every attempt and redelivery' }),
  endpointId,
  eventType: oneOf([...webhookEventKinds, testEventKind]),
  status: oneOf(deliveryStatuses),
  attempt: Type.Integer({ minimum: 0, description: 'Attempts so far' }),
  statusCode: nullable(
    Type.Integer({ description: 'HTTP status of the last attempt; null: no answer came' }),
  ),
  durationMs: nullable(Type.Integer({ minimum: 0, description: 'Duration of the last attempt' })),
  redelivery: Type.Boolean({ description: 'Whether a person asked for it' }),
  createdAt: timestamp('When the event was put in the queue'),
  attemptedAt: nullable(timestamp('Last attempt')),
  nextAttemptAt: nullable(timestamp('Next attempt')),
  errorSummary: nullable(Type.String()),
});
export type WebhookDelivery = Static<typeof Delivery>;

const url = Type.String({
  pattern: httpsPattern,
  maxLength: limits.outboundUrlChars,
  description: 'Where to send, over HTTPS to port 443 or 8443 of a public address',
});
const description = Type.String({ maxLength: limits.webhookDescriptionChars, pattern: linePattern });
const signing = (otherwise: string) =>
  Type.Union([Type.Literal('v1'), Type.Literal('v1a')], {
    description: `v1: HMAC-SHA-256 with a secret; v1a: Ed25519, verified with a public key; ${otherwise}`,
  });
const enabled = Type.Boolean({ description: 'Whether it gets events' });
const params = exact({ endpointId });
const deliveryParams = exact({ webhookDeliveryId: deliveryId });
const shared = { tag: 'Webhooks', stability: 'beta', origin: 'extension' } as const;
const scopes = { reads: 'webhooks:read', writes: 'webhooks:write' } as const;
const endpoint = resource({ ...shared, ...scopes, path: '/webhooks/endpoints', params, item: Endpoint });
const delivery = resource({
  ...shared,
  ...scopes,
  path: '/webhooks/deliveries',
  params: deliveryParams,
  item: Delivery,
});
const statuses = [400, 401, 403, 404, 429, 500];

export const webhooks = {
  createWebhookEndpoint: endpoint.create({
    summary: 'Create an endpoint that gets webhooks; the response is the only one that contains its secret',
    body: exact({
      url,
      events: Type.Optional(WebhookEvents),
      enabled: Type.Optional(enabled),
      description: Type.Optional(description),
      signing: Type.Optional(signing('default v1')),
    }),
    success: { 201: Secret },
    statuses: [400, 401, 403, 409, 429, 500],
  }),
  listWebhookEndpoints: endpoint.list({
    command: 'webhooks list',
    summary: 'List the endpoints that get webhooks, newest first',
    statuses: [400, 401, 403, 500],
  }),
  getWebhookEndpoint: endpoint.get({
    command: 'webhooks get',
    summary: 'Get an endpoint of webhooks, with the public keys of v1a',
    tagged: true,
    statuses: [401, 403, 404, 500],
  }),
  updateWebhookEndpoint: endpoint.update({
    summary: 'Change address, events, description or state of an endpoint of webhooks',
    body: Type.Object(
      {
        url: Type.Optional(url),
        events: Type.Optional(WebhookEvents),
        enabled: Type.Optional(enabled),
        description: Type.Optional(description),
        endpointId: readOnly,
        signing: readOnly,
        publicKeys: readOnly,
        createdAt: readOnly,
        updatedAt: readOnly,
        failingSince: readOnly,
        disabledReason: readOnly,
      },
      { additionalProperties: false, minProperties: 1 },
    ),
    statuses,
  }),
  deleteWebhookEndpoint: endpoint.delete({
    summary: 'Delete an endpoint of webhooks; its messages that wait are cancelled',
    ifMatch: true,
    statuses: [401, 403, 404, 500],
  }),
  rotateWebhookSecret: operation({
    ...shared,
    method: 'POST',
    path: '/webhooks/endpoints/{endpointId}/rotate',
    scope: 'webhooks:write',
    summary:
      'Replace the secret or key pair of an endpoint of webhooks; messages carry both signatures for a while',
    params,
    query: exact({
      overlapSeconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: limits.webhookOverlapSeconds,
          description: `Seconds that messages also carry the signature of the old secret; default ${limits.webhookOverlapSeconds}`,
        }),
      ),
      signing: Type.Optional(signing('default: as before')),
    }),
    success: { 201: Secret },
    statuses,
  }),
  testWebhookEndpoint: operation({
    ...shared,
    method: 'POST',
    path: '/webhooks/endpoints/{endpointId}/test',
    scope: 'webhooks:write',
    command: 'webhooks test',
    summary: 'Send a test message to an endpoint of webhooks now, once, and return the outcome',
    params,
    success: { 200: Delivery },
    statuses: [401, 403, 404, 429, 500],
  }),
  listWebhookDeliveries: delivery.list({
    command: 'webhooks deliveries',
    summary: 'List the messages of the last 30 days, newest first, with their last attempt',
    query: exact({
      endpointId: Type.Optional(endpointId),
      eventType: Type.Optional(oneOf([...webhookEventKinds, testEventKind])),
      status: Type.Optional(oneOf(deliveryStatuses)),
      ...paging,
    }),
    statuses: [400, 401, 403, 500],
  }),
  getWebhookDelivery: delivery.get({
    command: 'webhooks delivery',
    summary: 'Get a message with its last attempt',
    statuses: [401, 403, 404, 500],
  }),
  redeliverWebhook: operation({
    ...shared,
    method: 'POST',
    path: '/webhooks/deliveries/{webhookDeliveryId}/redeliver',
    scope: 'webhooks:write',
    command: 'webhooks redeliver',
    summary: 'Send the event of a message again, with the same webhook-id',
    params: deliveryParams,
    success: { 202: Delivery },
    statuses: [401, 403, 404, 409, 429, 500],
  }),
} as const;

/**
 * One attempt to deliver a message, and what follows from it: delivered, again later, or failed (contract L10).
 * Proven by `test/service/webhooks/attempt.test.ts` and `test/service/webhooks/sending.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { webhookHeaders, webhookSigner } from '../../core/webhooks/signature.ts';
import type { OutboundAnswer } from '../hosting/outbound.ts';
import type { Services } from '../port/services.ts';
import { secretsOf, urlOf, type EndpointData } from './endpoint.ts';
import type { DeliveryData } from './message.ts';
import { pauseAfter } from '../outbox/attempts.ts';

/** Sends the payload to the endpoint, signed with the current time. */
export async function send(
  services: Pick<Services, 'outbound' | 'seal' | 'now'>,
  { eventId: id, payload }: Pick<DeliveryData, 'eventId' | 'payload'>,
  endpoint: EndpointData,
  timeoutSeconds: number = limits.outboundTimeoutSeconds,
): Promise<OutboundAnswer> {
  const nowMs = services.now();
  const secrets = secretsOf(endpoint, services.seal, nowMs);
  const body = Buffer.from(payload);
  const keys = secrets.flatMap((secret) => webhookSigner(secret) ?? []);
  const signed = webhookHeaders({ id, body, nowMs }, keys);
  return services.outbound.post({
    url: urlOf(endpoint, services.seal),
    headers: { 'content-type': 'application/json', ...signed },
    body,
    timeoutMs: timeoutSeconds * 1000,
  });
}

export interface Outcome {
  readonly status: 'delivered' | 'pending' | 'failed';
  readonly data: DeliveryData;
}

/** `random`: from 0 up to 1. `createdMs`: of the delivery. */
export function outcomeOf(
  before: DeliveryData,
  answer: OutboundAnswer,
  {
    nowMs,
    createdMs,
    random,
  }: { readonly nowMs: number; readonly createdMs: number; readonly random: number },
): Outcome {
  const attempt = before.attempt + 1;
  const { statusCode, durationMs, failed: error } = answer;
  const data: DeliveryData = {
    ...before,
    attempt,
    statusCode,
    durationMs,
    error,
    attemptedMs: nowMs,
    nextMs: null,
  };
  if (answer.ok) return { status: 'delivered', data };
  const pauseMs = pauseAfter(attempt, answer, random);
  if (pauseMs === null) return { status: 'failed', data };
  const nextMs = nowMs + pauseMs;
  if (nextMs - createdMs > limits.webhookWaitingHours * 3_600_000) return { status: 'failed', data };
  return { status: 'pending', data: { ...data, nextMs } };
}

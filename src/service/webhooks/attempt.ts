/**
 * One attempt to deliver a message, and what follows from it: delivered, again later, or failed (contract L10).
 * Proven by `test/service/webhooks/attempt.test.ts` and `test/service/webhooks/sending.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { OutboundAnswer } from '../outbound.ts';
import type { Services } from '../dependencies.ts';
import { secretsOf, type EndpointData } from './endpoint.ts';
import type { DeliveryData } from './message.ts';
import { signatureHeaders } from './sign.ts';

/** Seconds before each attempt: the table of Standard Webhooks. */
const delaySeconds = [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;
const jitterShare = 0.2;

/** Sends the payload to the endpoint, signed with the current time. */
export async function send(
  services: Pick<Services, 'outbound' | 'seal' | 'now'>,
  { eventId: id, payload: body }: Pick<DeliveryData, 'eventId' | 'payload'>,
  endpoint: EndpointData,
  timeoutSeconds: number = limits.outboundTimeoutSeconds,
): Promise<OutboundAnswer> {
  const nowMs = services.now();
  const secrets = secretsOf(endpoint, services.seal, nowMs);
  const signed = signatureHeaders({ id, seconds: Math.floor(nowMs / 1000), body }, secrets);
  return services.outbound.post({
    url: endpoint.url,
    headers: { 'content-type': 'application/json', ...signed },
    body: Buffer.from(body),
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
  const delayMs = delayAfter(attempt, random);
  if (answer.isFinal || delayMs === null) return { status: 'failed', data };
  const nextMs = nowMs + Math.max(delayMs, answer.retryAfterMs ?? 0);
  if (nextMs - createdMs > limits.webhookWaitingHours * 3_600_000) return { status: 'failed', data };
  return { status: 'pending', data: { ...data, nextMs } };
}

/** Milliseconds before the next attempt; null after the last one. */
export function delayAfter(attempts: number, random: number): number | null {
  const seconds = delaySeconds[attempts];
  if (seconds === undefined || attempts >= limits.webhookAttempts) return null;
  return Math.round(seconds * 1000 * (1 + jitterShare * (2 * random - 1)));
}

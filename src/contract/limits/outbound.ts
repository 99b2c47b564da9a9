/** Limits: webhooks and what else leaves the process. */
import { KiB } from './units.ts';

export const outbound = {
  outboundAllow: 100,
  outboundUrlChars: 2048,
  outboundTimeoutSeconds: 20,
  /** Of an answer this much is read, then it is dropped. */
  outboundAnswerBytes: 4 * KiB,
  /** A body that comes slower than this is dropped too: its status has come. */
  outboundBodyMs: 1000,
  /** An idle connection is kept for this long, and this many for each receiver. */
  outboundIdleMs: 5000,
  outboundIdleSockets: 4,
  outboundRetryAfterSeconds: 86_400,
  webhookEndpoints: 20,
  webhookEvents: 40,
  webhookDescriptionChars: 500,
  webhookOverlapSeconds: 86_400,
  webhookPayloadBytes: 20 * KiB,
  /** An endpoint that fails for so long is disabled. */
  webhookFailingHours: 120,
  /** A message that waits longer than this is not sent. */
  webhookWaitingHours: 120,
  webhookHistoryDays: 30,
  webhookTestSeconds: 10,
} as const;

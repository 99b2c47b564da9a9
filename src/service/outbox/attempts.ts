/**
 * When a delivery of a report or a webhook is tried again (contract L10): ten attempts within three days, as Standard Webhooks recommends.
 * Proven by `test/service/outbox/attempts.test.ts`.
 */
import type { OutboundAnswer } from '../hosting/outbound.ts';

const [second, minute, hour] = [1000, 60_000, 3_600_000];
/** The pause before each attempt. */
const pauses = [
  0,
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
] as const;
export const mostAttempts = pauses.length;

/** A pause of the table varies by so much in both directions; what the receiver asks for only becomes longer. */
const jitter = 0.2;
/** A receiver under load gets at least this long. */
const throttleMs = minute;
const throttled: ReadonlySet<number> = new Set([429, 502, 504]);
const longestMs = 24 * hour;

/**
 * Milliseconds until the next attempt, or null after the last one. `attempts`: those made, the failed one included.
 * `random`: from 0 to 1.
 */
export function pauseAfter(
  attempts: number,
  { isFinal, statusCode, retryAfterMs }: Pick<OutboundAnswer, 'isFinal' | 'statusCode' | 'retryAfterMs'>,
  random: number,
): number | null {
  const pause = pauses[attempts];
  if (isFinal || pause === undefined) return null;
  const spread = pause * (1 + jitter * (2 * random - 1));
  const asked = Math.min(retryAfterMs ?? (throttled.has(statusCode ?? 0) ? throttleMs : 0), longestMs);
  return Math.round(Math.max(spread, asked * (1 + jitter * random)));
}

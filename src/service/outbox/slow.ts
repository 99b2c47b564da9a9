/**
 * Which receivers are slow: work for them never takes the place of work for the others. Proven by
 * `test/service/webhooks/sending.test.ts` and `test/service/reports/deliveries/slots.test.ts`.
 */
import type { OutboundAnswer } from '../hosting/outbound.ts';

/** A receiver that takes longer is slow, and so is one that fails. */
const slowMs = 1000;

export const isSlow = ({ ok, durationMs }: Pick<OutboundAnswer, 'ok' | 'durationMs'>): boolean =>
  !ok || durationMs > slowMs;

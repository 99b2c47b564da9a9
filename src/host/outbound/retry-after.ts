/** The header Retry-After (RFC 9110, section 10.2.3). Proven by `test/host/outbound/retry-after.test.ts`. */
import { limits } from '../../contract/limits.ts';

/**
 * Milliseconds to wait, at most `limits.outboundRetryAfterSeconds`. Null without a header of one of the two
 * forms. The receiver controls the text.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  const mostMs = limits.outboundRetryAfterSeconds * 1000;
  if (/^[0-9]{1,10}$/.test(text)) return Math.min(Number(text) * 1000, mostMs);
  const atMs = /^[A-Z][a-z]{2}, .{20,24}$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.min(Math.max(atMs - nowMs, 0), mostMs);
}

/** The header Retry-After (RFC 9110, section 10.2.3). Proven by `test/core/retry-after.test.ts`. */
/**
 * Milliseconds to wait, at most `mostSeconds`. Null without a header of one of the two
 * forms. The receiver controls the text.
 */
export function retryAfterMs(
  header: string | undefined,
  { nowMs, mostSeconds }: { readonly nowMs: number; readonly mostSeconds: number },
): number | null {
  const text = header?.trim() ?? '';
  const mostMs = mostSeconds * 1000;
  if (/^[0-9]{1,10}$/.test(text)) return Math.min(Number(text) * 1000, mostMs);
  const atMs = /^[A-Z][a-z]{2}, .{20,24}$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.min(Math.max(atMs - nowMs, 0), mostMs);
}

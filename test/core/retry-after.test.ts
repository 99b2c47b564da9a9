import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../src/core/retry-after.ts';

const of = { nowMs: Date.parse('2026-11-27T12:00:00Z'), mostSeconds: 86_400 };

describe('retryAfterMs', () => {
  it.each([
    ['0', 0],
    ['120', 120_000],
    [' 5 ', 5000],
    ['86400', 86_400_000],
    ['86401', 86_400_000],
    ['9999999999', 86_400_000],
    ['Fri, 27 Nov 2026 12:01:00 GMT', 60_000],
    ['Fri, 27 Nov 2026 11:00:00 GMT', 0],
    ['Fri, 27 Nov 2099 11:00:00 GMT', 86_400_000],
  ])('reads %j as %d ms', (header, expected) => {
    expect(retryAfterMs(header, of)).toBe(expected);
  });

  it.each([undefined, '', '-1', '1.5', '1e9', 'soon', '2026-11-27T12:01:00Z', '99999999999'])(
    'ignores %j, which has neither form of RFC 9110',
    (header) => expect(retryAfterMs(header, of)).toBeNull(),
  );
});

import { describe, expect, it } from 'vitest';
import { mostAttempts, pauseAfter } from '../../../src/service/outbox/attempts.ts';

const failed = { isFinal: false, statusCode: 500, retryAfterMs: null };
const [second, minute, hour] = [1000, 60_000, 3_600_000];

describe('the attempts of a delivery', () => {
  it('are ten, with the pauses of the contract', () => {
    const pauses = Array.from({ length: 10 }, (_, at) => pauseAfter(at + 1, failed, 0.5));
    expect(mostAttempts).toBe(10);
    expect(pauses).toEqual([
      5 * second,
      5 * minute,
      30 * minute,
      2 * hour,
      5 * hour,
      10 * hour,
      14 * hour,
      20 * hour,
      24 * hour,
      null,
    ]);
  });

  it('are spread by a fifth in both directions', () => {
    expect(pauseAfter(2, failed, 0)).toBe(4 * minute);
    expect(pauseAfter(2, failed, 1)).toBe(6 * minute);
  });

  it('wait for Retry-After, at most a day, and never less than the table says', () => {
    const after = (retryAfterMs: number) => pauseAfter(1, { ...failed, retryAfterMs }, 0);
    expect(after(second)).toBe(4 * second);
    expect(after(hour)).toBe(hour);
    expect(after(72 * hour)).toBe(24 * hour);
  });

  it('are spread by a fifth on top of what the receiver asks for, and of the minute for one that throttles', () => {
    expect(pauseAfter(1, { ...failed, retryAfterMs: hour }, 1)).toBe(1.2 * hour);
    expect(pauseAfter(1, { ...failed, statusCode: 429 }, 1)).toBe(1.2 * minute);
  });

  it.each([429, 502, 504])('wait a minute at least after %i', (statusCode) => {
    expect(pauseAfter(1, { ...failed, statusCode }, 0)).toBe(minute);
    expect(pauseAfter(2, { ...failed, statusCode }, 0.5)).toBe(5 * minute);
  });

  it('end with a failure that no repetition repairs', () => {
    expect(pauseAfter(1, { ...failed, isFinal: true }, 0.5)).toBe(null);
  });
});

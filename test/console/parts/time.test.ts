import { describe, expect, it } from 'vitest';
import { relativeTime } from '../../../src/console/parts/time.tsx';

const now = Date.UTC(2026, 10, 28);

describe('a time on the console', () => {
  it.each([
    [0, false, 'just now'],
    [-4_000, false, '4 s ago'],
    [-86_398_000, false, '24 h ago'],
    // recorded by a server whose clock is ahead of the page's
    [2_000, false, 'just now'],
    [3_600_000, false, 'just now'],
    [2_000, true, 'in 2 s'],
    [86_399_000, true, 'in 24 h'],
  ])('of %d ms from now, that may lie ahead: %s, is %s', (fromNow, isAhead, text) =>
    expect(relativeTime(now + fromNow, now, isAhead)).toBe(text),
  );
});

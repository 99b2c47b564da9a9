import { describe, expect, it } from 'vitest';
import { readTime } from '../../../src/core/intake/time.ts';

describe('times of other programs', () => {
  it.each([
    ['2025-01-27T22:44:56.900854', '2025-01-27T22:44:56.900854Z', 'assumed_utc'],
    ['2025-04-30 16:31:22', '2025-04-30T16:31:22Z', 'assumed_utc'],
    ['2025-04-30T16:31:22.1234567891', '2025-04-30T16:31:22.123456789Z', 'assumed_utc'],
    ['2025-09-30T09:03:59.962Z', '2025-09-30T09:03:59.962Z', 'source'],
    ['2025-09-30T09:03:59+02:00', '2025-09-30T09:03:59+02:00', 'source'],
    ['2025-09-30t09:03:59z', '2025-09-30T09:03:59Z', 'source'],
    ['2025-09-30 09:03:59 +0530', '2025-09-30T09:03:59+05:30', 'source'],
    ['2025-09-30T09:03:59+02', '2025-09-30T09:03:59+02:00', 'source'],
    [1_700_000_000, '2023-11-14T22:13:20.000Z', 'source'],
    [1_700_000_000_123, '2023-11-14T22:13:20.123Z', 'source'],
  ])('the time %s is read as %s (%s)', (written, timestamp, source) => {
    expect(readTime(written)).toMatchObject({ timestamp, source });
  });

  it.each([
    ['yesterday'],
    ['2025-02-30T00:00:00'],
    ['2025-01-01'],
    [''],
    [0],
    [-5],
    [Number.NaN],
    [1e20],
    [null],
    [{}],
  ])('the value %s is not read as a time', (written) => expect(readTime(written)).toBeNull());
});

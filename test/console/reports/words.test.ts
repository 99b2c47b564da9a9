import { describe, expect, it } from 'vitest';
import { periodText } from '../../../src/console/reports/words.ts';

describe('the period of a report', () => {
  it('names its days in UTC, also where its times have another offset', () => {
    const parameters = { startTime: '2026-01-01T00:30:00+02:00', endTime: '2026-03-31T23:30:00Z' };
    expect(periodText(parameters)).toBe('2025-12-31 to 2026-03-31 UTC');
  });
});

import { describe, expect, it } from 'vitest';
import { periodOf, type ReportWindow } from '../../../src/core/schedules/window.ts';
import { startOf } from '../../../src/core/schedules/zone.ts';

const period = (window: ReportWindow, due: string, zone: string): string[] => {
  const { startMs, endMs } = periodOf(window, Date.parse(due), zone);
  return [startMs, endMs].map((ms) => new Date(ms).toISOString());
};

describe('the period of a scheduled report', () => {
  it.each<[ReportWindow, string, string, string, string]>([
    [
      'previous_day',
      '2026-06-10T04:00:00Z',
      'Europe/Berlin',
      '2026-06-08T22:00:00.000Z',
      '2026-06-09T22:00:00.000Z',
    ],
    // a day of 23 hours, and one of 25
    [
      'previous_day',
      '2026-03-30T04:00:00Z',
      'Europe/Berlin',
      '2026-03-28T23:00:00.000Z',
      '2026-03-29T22:00:00.000Z',
    ],
    [
      'previous_day',
      '2026-10-26T05:00:00Z',
      'Europe/Berlin',
      '2026-10-24T22:00:00.000Z',
      '2026-10-25T23:00:00.000Z',
    ],
    // in Auckland it is already Monday
    [
      'previous_week',
      '2026-06-07T18:00:00Z',
      'Pacific/Auckland',
      '2026-05-31T12:00:00.000Z',
      '2026-06-07T12:00:00.000Z',
    ],
    ['previous_week', '2026-06-07T18:00:00Z', 'UTC', '2026-05-25T00:00:00.000Z', '2026-06-01T00:00:00.000Z'],
    ['previous_month', '2027-01-01T00:30:00Z', 'UTC', '2026-12-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
    [
      'previous_month',
      '2027-01-01T00:30:00Z',
      'America/New_York',
      '2026-11-01T04:00:00.000Z',
      '2026-12-01T05:00:00.000Z',
    ],
    ['previous_month', '2028-03-31T12:00:00Z', 'UTC', '2028-02-01T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
    [
      'previous_quarter',
      '2027-02-14T12:00:00Z',
      'UTC',
      '2026-10-01T00:00:00.000Z',
      '2027-01-01T00:00:00.000Z',
    ],
    [
      'previous_quarter',
      '2026-05-31T12:00:00Z',
      'Asia/Kolkata',
      '2025-12-31T18:30:00.000Z',
      '2026-03-31T18:30:00.000Z',
    ],
  ])('%s due at %s in %s begins and ends at the first instant of a day', (window, due, zone, start, end) => {
    expect(period(window, due, zone)).toEqual([start, end]);
  });

  it('a day begins at its first instant where the zone skips midnight', () => {
    // Havana goes from 00:00 to 01:00 on 8 March 2026
    const start = startOf({ year: 2026, month: 3, day: 8 }, 'America/Havana');
    expect(new Date(start).toISOString()).toBe('2026-03-08T05:00:00.000Z');
    expect(period('previous_day', '2026-03-09T12:00:00Z', 'America/Havana')).toEqual([
      '2026-03-08T05:00:00.000Z',
      '2026-03-09T04:00:00.000Z',
    ]);
  });

  it('a day that a zone left out is empty', () => {
    // Samoa had no 30 December 2011
    const skipped = startOf({ year: 2011, month: 12, day: 30 }, 'Pacific/Apia');
    expect(skipped).toBe(startOf({ year: 2011, month: 12, day: 31 }, 'Pacific/Apia'));
  });

  it('the periods of one day after the other leave no gap and do not overlap, in every zone for two years', () => {
    for (const zone of [
      'Europe/Berlin',
      'America/Havana',
      'Africa/Cairo',
      'Australia/Lord_Howe',
      'America/Scoresbysund',
    ]) {
      let { endMs: expected } = periodOf('previous_day', Date.UTC(2026, 0, 1, 18), zone);
      for (let due = Date.UTC(2026, 0, 2, 18); due < Date.UTC(2028, 0, 1); due += 86_400_000) {
        const { startMs, endMs } = periodOf('previous_day', due, zone);
        expect([zone, startMs]).toEqual([zone, expected]);
        expected = endMs;
      }
    }
  });
});

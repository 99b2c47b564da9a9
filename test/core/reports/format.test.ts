import { describe, expect, it } from 'vitest';
import { formatter } from '../../../src/core/reports/format.ts';

const berlin = formatter('en-GB', 'Europe/Berlin');

describe('values of a report as text', () => {
  it.each([
    ['Europe/Berlin', '2026-10-25T00:30:00Z', '25 Oct 2026, 02:30:00 UTC+02:00'],
    ['Europe/Berlin', '2026-10-25T01:30:00Z', '25 Oct 2026, 02:30:00 UTC+01:00'],
    ['America/New_York', '2026-11-01T05:30:00Z', '01 Nov 2026, 01:30:00 UTC-04:00'],
    ['America/New_York', '2026-11-01T06:30:00Z', '01 Nov 2026, 01:30:00 UTC-05:00'],
    ['Pacific/Auckland', '2026-09-26T13:59:59Z', '27 Sept 2026, 01:59:59 UTC+12:00'],
    ['Pacific/Auckland', '2026-09-26T14:00:00Z', '27 Sept 2026, 03:00:00 UTC+13:00'],
    ['UTC', '2026-01-01T00:00:00Z', '01 Jan 2026, 00:00:00 UTC'],
  ])('in %s, %s is printed with its offset where clocks change', (zone, time, text) => {
    expect(formatter('en-GB', zone).time(time)).toBe(text);
  });

  it.each([
    [0, '0ms'],
    [999, '999ms'],
    [1000, '1s'],
    [59_999, '59.999s'],
    [60_000, '1m'],
    [272_000, '4m 32s'],
    [5_412_345, '1h 30m'],
    [90_000_000, '1d 1h'],
  ])('a duration of %i ms is printed as %s', (ms, text) => {
    expect(formatter('en', 'UTC').cell(ms, 'duration')).toBe(text);
  });

  it('numbers follow the locale, with the digits 0 to 9 in every locale', () => {
    expect(berlin.cell(1234567.5, 'number')).toBe('1,234,567.5');
    expect(formatter('de-DE', 'UTC').cell(1234567.5, 'number')).toBe('1.234.567,5');
    expect(formatter('fr-FR', 'UTC').cell(1234567.5, 'number')).toBe('1 234 567,5');
    expect(formatter('ar-EG', 'UTC').cell(12, 'number')).toMatch(/^12$/);
  });

  it('null, booleans, status words and texts that are no times are printed as they are', () => {
    expect(berlin.cell(null, 'number')).toBe('–');
    expect(berlin.cell(true, 'text')).toBe('yes');
    expect(berlin.cell('not_shown', 'status')).toBe('Not shown');
    expect(berlin.cell('yesterday', 'time')).toBe('yesterday');
  });

  it('an unknown time zone is refused', () => {
    expect(() => formatter('en', 'Mars/Olympus')).toThrow(RangeError);
  });
});

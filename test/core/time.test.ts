/** RFC 3339 in the profile of contract A3: the RFC's examples, every boundary, `Date` as oracle. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ceilTimestamp, formatTimestamp, isLater, parseTimestamp } from '../../src/core/time.ts';

const first = 0;
const last = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

describe('parseTimestamp', () => {
  test.each([
    ['1985-04-12T23:20:50.52Z', Date.UTC(1985, 3, 12, 23, 20, 50, 520)],
    ['1996-12-19T16:39:57-08:00', Date.UTC(1996, 11, 20, 0, 39, 57)],
    ['1970-01-01T00:00:00Z', first],
    ['1970-01-01T00:00:00.000000000-00:00', first],
    ['9999-12-31T23:59:59.999Z', last],
    ['2026-11-20T14:00:00.1+05:30', Date.UTC(2026, 10, 20, 8, 30, 0, 100)],
    ['2026-11-20T14:00:00.123999999Z', Date.UTC(2026, 10, 20, 14, 0, 0, 123)],
    ['2026-11-20T14:00:00.000999999Z', Date.UTC(2026, 10, 20, 14)],
    ['2000-02-29T00:00:00Z', Date.UTC(2000, 1, 29)],
    ['2024-02-29T23:59:59+23:59', Date.UTC(2024, 1, 29, 0, 0, 59)],
    ['2024-02-29T23:59:59-23:59', Date.UTC(2024, 2, 1, 23, 58, 59)],
  ])('parseTimestamp reads %s', (text, unixMs) => {
    expect(parseTimestamp(text)).toBe(unixMs);
  });

  test.each([
    ['a leap second (RFC 3339 §5.8)', '1990-12-31T23:59:60Z'],
    ['a leap second (RFC 3339 §5.8)', '1990-12-31T15:59:60-08:00'],
    ['a year before 1970 (RFC 3339 §5.8)', '1937-01-01T12:00:27.87+00:20'],
    ['a moment before 1970', '1970-01-01T00:00:00+00:01'],
    ['a moment after 9999', '9999-12-31T23:59:59-00:01'],
    ['a written year before 1970', '1969-12-31T23:59:59-01:00'],
    ['a year of five digits', '10000-01-01T00:00:00Z'],
    ['a signed year', '+002026-11-20T00:00:00Z'],
    ['no offset', '2026-11-20T14:00:00'],
    ['no time', '2026-11-20'],
    ['a space for T', '2026-11-20 14:00:00Z'],
    ['small letters', '2026-11-20t14:00:00z'],
    ['a small z', '2026-11-20T14:00:00z'],
    ['no seconds', '2026-11-20T14:00Z'],
    ['an empty fraction', '2026-11-20T14:00:00.Z'],
    ['ten fraction digits', '2026-11-20T14:00:00.0000000000Z'],
    ['a comma', '2026-11-20T14:00:00,5Z'],
    ['month 0', '2026-00-20T14:00:00Z'],
    ['month 13', '2026-13-20T14:00:00Z'],
    ['day 0', '2026-11-00T14:00:00Z'],
    ['31 November', '2026-11-31T14:00:00Z'],
    ['29 February 2023', '2023-02-29T14:00:00Z'],
    ['29 February 2100', '2100-02-29T14:00:00Z'],
    ['30 February 2024', '2024-02-30T14:00:00Z'],
    ['hour 24', '2026-11-20T24:00:00Z'],
    ['minute 60', '2026-11-20T14:60:00Z'],
    ['second 61', '2026-11-20T14:00:61Z'],
    ['offset hour 24', '2026-11-20T14:00:00+24:00'],
    ['offset minute 60', '2026-11-20T14:00:00+01:60'],
    ['an offset without colon', '2026-11-20T14:00:00+0100'],
    ['an offset of hours', '2026-11-20T14:00:00+01'],
    ['Z and an offset', '2026-11-20T14:00:00Z+01:00'],
    ['text behind', '2026-11-20T14:00:00Z '],
    ['text before', ' 2026-11-20T14:00:00Z'],
    ['a line feed behind', '2026-11-20T14:00:00Z\n'],
    ['a minus sign (U+2212)', '2026-11-20T14:00:00−01:00'],
    ['digits of another script', '２０２６-11-20T14:00:00Z'],
    ['nothing', ''],
    ['much', '2026-11-20T14:00:00.'.padEnd(100_000, '0')],
  ])('parseTimestamp refuses %s', (_, text) => {
    expect(parseTimestamp(text)).toBeNull();
  });

  test('parseTimestamp agrees with Date on every moment, offset and number of fraction digits', () => {
    const offset = fc.integer({ min: -1439, max: 1439 });
    const moment = fc.integer({ min: 0, max: last - 86_400_000 });
    fc.assert(
      fc.property(moment, offset, fc.stringMatching(/^[0-9]{0,9}$/), (unixMs, minutes, fraction) => {
        const local = new Date(Math.max(unixMs + minutes * 60_000, 0)).toISOString().slice(0, 19);
        const size = Math.abs(minutes);
        const sign = minutes < 0 ? '-' : '+';
        const hh = String(Math.floor(size / 60)).padStart(2, '0');
        const mm = String(size % 60).padStart(2, '0');
        const text = `${local}${fraction === '' ? '' : `.${fraction}`}${sign}${hh}:${mm}`;
        const expected = Date.parse(`${local}.${fraction.padEnd(3, '0').slice(0, 3)}${sign}${hh}:${mm}`);
        expect(parseTimestamp(text)).toBe(expected < 0 ? null : expected);
      }),
      { numRuns: 2000 },
    );
  });

  test('parseTimestamp knows every day of every leap pattern', () => {
    for (let day = Date.UTC(1999, 0, 1); day < Date.UTC(2005, 0, 1); day += 86_400_000) {
      expect(parseTimestamp(new Date(day).toISOString())).toBe(day);
    }
    for (const year of [1970, 1972, 2099, 2100, 2101, 2400, 9996, 9999]) {
      for (const day of [Date.UTC(year, 1, 28), Date.UTC(year, 2, 1), Date.UTC(year, 11, 31)]) {
        expect(parseTimestamp(new Date(day).toISOString())).toBe(day);
      }
    }
  });

  test('parseTimestamp refuses any text or reads it as the moment that it spells', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-9]{2}:[0-9]{2}Z$/),
        (text) => {
          const unixMs = parseTimestamp(text);
          if (unixMs !== null) expect(formatTimestamp(unixMs)).toBe(text.replace('Z', '.000Z'));
          else expect(text < '1970' || !isDate(text)).toBe(true);
        },
      ),
    );
  });
});

const isDate = (text: string): boolean => {
  const date = new Date(text);
  return !Number.isNaN(date.getTime()) && date.toISOString() === text.replace('Z', '.000Z');
};

describe('formatTimestamp', () => {
  test('formatTimestamp writes milliseconds and Z', () => {
    expect(formatTimestamp(first)).toBe('1970-01-01T00:00:00.000Z');
    expect(formatTimestamp(last)).toBe('9999-12-31T23:59:59.999Z');
  });

  test.each([-1, last + 1, 0.5, Number.NaN, Infinity])('formatTimestamp refuses %d', (unixMs) => {
    expect(() => formatTimestamp(unixMs)).toThrow('expected whole unix milliseconds');
  });

  test('formatTimestamp is the inverse of parseTimestamp', () => {
    fc.assert(
      fc.property(fc.integer({ min: first, max: last }), (unixMs) => {
        expect(parseTimestamp(formatTimestamp(unixMs))).toBe(unixMs);
      }),
    );
  });
});

describe('ceilTimestamp and isLater', () => {
  test.each([
    ['2026-11-20T14:00:00Z', '2026-11-20T14:00:00.000Z'],
    ['2026-11-20T14:00:00.123Z', '2026-11-20T14:00:00.123Z'],
    ['2026-11-20T14:00:00.123000000Z', '2026-11-20T14:00:00.123Z'],
    ['2026-11-20T14:00:00.1230000Z', '2026-11-20T14:00:00.123Z'],
    ['2026-11-20T14:00:00.123000001Z', '2026-11-20T14:00:00.124Z'],
    ['2026-11-20T14:00:00.1231+01:00', '2026-11-20T13:00:00.124Z'],
    ['2026-11-20T14:00:59.9999Z', '2026-11-20T14:01:00.000Z'],
    ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999Z'],
  ])('ceilTimestamp of %s is %s', (text, ceiled) => {
    expect(ceilTimestamp(text)).toBe(Date.parse(ceiled));
  });

  test('ceilTimestamp returns null and isLater returns false for a text that is not a timestamp', () => {
    expect(ceilTimestamp('2026-11-20')).toBeNull();
    expect(isLater('2026-11-20', '2026-11-20T14:00:00Z')).toBe(false);
    expect(isLater('2026-11-20T14:00:00Z', '')).toBe(false);
  });

  test('isLater compares nanoseconds of any two timestamps', () => {
    const time = fc.record({
      ms: fc.integer({ min: 1_700_000_000_000, max: 1_700_000_000_002 }),
      fraction: fc.integer({ min: 0, max: 999_999 }),
      digits: fc.integer({ min: 0, max: 6 }),
    });
    const written = ({ ms, fraction, digits }: { ms: number; fraction: number; digits: number }) => {
      const beyond = String(fraction).padStart(6, '0').slice(0, digits);
      const text = new Date(ms).toISOString().replace('Z', `${beyond}Z`);
      return { text, nanos: BigInt(ms) * 1_000_000n + BigInt(beyond.padEnd(6, '0')) };
    };
    fc.assert(
      fc.property(time, time, (one, other) => {
        const [a, b] = [written(one), written(other)];
        expect(isLater(a.text, b.text)).toBe(a.nanos > b.nanos);
      }),
    );
  });
});

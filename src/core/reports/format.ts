/**
 * Values of a report as text, in its locale and time zone (Intl, Unicode CLDR). Digits are always 0 to 9, so that figures
 * can be compared with the data. Times carry their offset from UTC, because a local time occurs twice when clocks go back.
 * Proven by `test/core/reports/format.test.ts`.
 */
import type { ReportCell, ReportColumn } from './model.ts';

export interface Formatter {
  cell(value: ReportCell, kind: ReportColumn['kind']): string;
  time(time: string): string;
  count(value: number): string;
  /** Everything that the locale may write beside digits: the fonts must have it. */
  readonly sample: string;
}

const noValue = '–';

/** Errors: RangeError for an unknown time zone or a malformed locale. */
export function formatter(locale: string, timezone: string): Formatter {
  const digits = { numberingSystem: 'latn' } as const;
  const numbers = new Intl.NumberFormat(locale, { ...digits, maximumFractionDigits: 6 });
  const calendar = {
    ...digits,
    calendar: 'gregory',
    timeZone: timezone,
    year: 'numeric',
    day: '2-digit',
  } as const;
  const times = new Intl.DateTimeFormat(locale, {
    ...calendar,
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  });
  // only English spells the offset the same in all data of ICU
  const offsets = new Intl.DateTimeFormat('en', { timeZone: timezone, timeZoneName: 'longOffset' });
  const units = unitsIn(locale);
  const timeText = (time: string): string => {
    const ms = Date.parse(time);
    if (Number.isNaN(ms)) return time;
    const zone = offsets.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const offset = zone.replace('GMT', 'UTC').replace(/\+00:00$/, '');
    return plainSpaces(`${times.format(ms)} ${offset}`);
  };
  const count = (value: number): string => plainSpaces(numbers.format(value));
  return {
    count,
    time: timeText,
    cell(value, kind) {
      if (value === null) return noValue;
      if (typeof value === 'boolean') return value ? 'yes' : 'no';
      if (typeof value === 'number') return kind === 'duration' ? units(value) : count(value);
      if (kind === 'time') return timeText(value);
      return kind === 'status' ? statusWord(value) : value;
    },
    sample: [
      ...Array.from({ length: 12 }, (_, month) => times.format(Date.UTC(2026, month, 15))),
      ...[1, 2000, 61_000, 3_661_000, 90_000_000].map(units),
      count(1234.5),
    ].join(' '),
  };
}

/** CLDR writes no-break and narrow spaces, which some fonts lack. */
const plainSpaces = (text: string): string => text.replace(/[\u00a0\u202f\u2009]/g, ' ');

/** `not_shown` becomes “Not shown”. */
const statusWord = (status: string): string => {
  const words = status.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** From a limit in milliseconds on: the two units that a duration is told in. */
const steps = [
  { fromMs: 86_400_000, units: ['day', 'hour'], ms: [86_400_000, 3_600_000] },
  { fromMs: 3_600_000, units: ['hour', 'minute'], ms: [3_600_000, 60_000] },
  { fromMs: 60_000, units: ['minute', 'second'], ms: [60_000, 1000] },
] as const;

/** A duration in at most two units, rounded down; below one minute with milliseconds. */
function unitsIn(locale: string): (ms: number) => string {
  const formats = new Map<string, Intl.NumberFormat>();
  const one = (value: number, unit: string): string => {
    const format =
      formats.get(unit) ??
      new Intl.NumberFormat(locale, {
        style: 'unit',
        unit,
        unitDisplay: 'narrow',
        numberingSystem: 'latn',
        maximumFractionDigits: 3,
      });
    formats.set(unit, format);
    return plainSpaces(format.format(value));
  };
  return (ms) => {
    if (ms < 0) return one(ms, 'millisecond');
    const step = steps.find(({ fromMs }) => ms >= fromMs);
    if (step === undefined) return ms < 1000 ? one(ms, 'millisecond') : one(ms / 1000, 'second');
    const [large, small] = step.units;
    const rest = Math.floor((ms % step.ms[0]) / step.ms[1]);
    const first = one(Math.floor(ms / step.ms[0]), large);
    return rest === 0 ? first : `${first} ${one(rest, small)}`;
  };
}

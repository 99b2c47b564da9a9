/**
 * Calendar days of an IANA time zone. A day begins at its first instant, which is not always midnight: Havana skips
 * 00:00 to 01:00 once a year. Proven by `test/core/schedules/window.test.ts`.
 */

/** A day of the Gregorian calendar. Months count from 1. */
export interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Formats are expensive to make (40 µs) and cheap to use (1 µs). */
const formats = new Map<string, Intl.DateTimeFormat>();
const mostFormats = 1000;

/** RangeError for an unknown zone. */
function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
  });
  if (formats.size >= mostFormats) formats.clear();
  formats.set(zone, made);
  return made;
}

/** The day in this zone at a time in Unix milliseconds. */
export function dayAt(ms: number, zone: string): Day {
  const found = { year: 0, month: 0, day: 0 };
  for (const { type, value } of formatOf(zone).formatToParts(ms)) {
    if (type === 'year' || type === 'month' || type === 'day') found[type] = Number(value);
  }
  return found;
}

/** Adds months and days as the calendar does: `addTo({ 2026, 1, 1 }, { days: -1 })` is 31 December 2025. */
export function addTo({ year, month, day }: Day, { months = 0, days = 0 }): Day {
  const moved = new Date(Date.UTC(year, month - 1 + months, day + days));
  return { year: moved.getUTCFullYear(), month: moved.getUTCMonth() + 1, day: moved.getUTCDate() };
}

/** 0 for Monday. */
export const weekdayOf = ({ year, month, day }: Day): number =>
  (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7;

/** The first millisecond of a day in a zone. For a day that the zone skipped, that of the next one. Cost: 28 formats. */
export function startOf(day: Day, zone: string): number {
  const wanted = ordinal(day);
  const middle = Date.UTC(day.year, day.month - 1, day.day);
  // no zone is more than 15 hours from UTC
  let before = middle - dayMs - 2 * hourMs;
  let within = middle + dayMs + 2 * hourMs;
  while (within - before > 1) {
    const at = Math.floor((before + within) / 2);
    if (ordinal(dayAt(at, zone)) >= wanted) within = at;
    else before = at;
  }
  return within;
}

const ordinal = ({ year, month, day }: Day): number => year * 10_000 + month * 100 + day;

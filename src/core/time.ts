/**
 * Timestamps: RFC 3339 in the profile of contract A3. `T` and an offset (`Z` or ±hh:mm) are required, with 0 to 9 fraction
 * digits and no leap second 60. Both the written year and the moment are from 1970 to 9999, so that `formatTimestamp`
 * can write every accepted timestamp.
 * Proven by `test/core/time.test.ts` (RFC 3339 §5.8 known answers).
 */
import { limits } from '../contract/limits.ts';

const dayMs = 86_400_000;
const minuteMs = 60_000;
const endOf9999 = Date.UTC(10_000, 0, 1);

/** Days before each month of a common year; index 1 is January. */
const daysBefore = [0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365] as const;

const ZERO = 0x30;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const COLON = 0x3a;
const T = 0x54;
const Z = 0x5a;

/**
 * Returns Unix milliseconds of a timestamp, further digits cut off (towards −∞), or null for a text outside of the profile.
 * Attacker controlled. Cost: one pass, without a regular expression.
 */
export function parseTimestamp(text: string): number | null {
  const length = text.length;
  if (length < 20 || length > 35 || !hasDateTimeMarks(text)) return null;
  const days = daysSinceEpoch(digits(text, 0, 4), digits(text, 5, 7), digits(text, 8, 10));
  const hour = digits(text, 11, 13);
  const minute = digits(text, 14, 16);
  const second = digits(text, 17, 19);
  if (days < 0 || !inRange(hour, 23) || !inRange(minute, 59) || !inRange(second, 59)) return null;

  const fractionEnd = endOfFraction(text);
  const millisecond = fractionMs(text, fractionEnd);
  const offset = offsetMs(text, fractionEnd);
  if (fractionEnd < 0 || offset === null) return null;

  const unixMs = days * dayMs + ((hour * 60 + minute) * 60 + second) * 1000 + millisecond - offset;
  return unixMs >= 0 && unixMs < endOf9999 ? unixMs : null;
}

/**
 * Returns the first Unix millisecond at or after a timestamp, or null for a text outside of the profile. As a bound of
 * times that are whole milliseconds it selects exactly what the timestamp selects, but for the last one of 9999.
 */
export function ceilTimestamp(text: string): number | null {
  const ms = parseTimestamp(text);
  return ms === null ? null : Math.min(ms + (nanosBeyondMs(text) === 0 ? 0 : 1), endOf9999 - 1);
}

/** Whether the first timestamp is later than the second, to the nanosecond. False for a text outside of the profile. */
export function isLater(first: string, second: string): boolean {
  const [one, other] = [parseTimestamp(first), parseTimestamp(second)];
  if (one === null || other === null) return false;
  return one === other ? nanosBeyondMs(first) > nanosBeyondMs(second) : one > other;
}

/** Returns the digits of an accepted timestamp beyond its millisecond, as nanoseconds. */
function nanosBeyondMs(text: string): number {
  const end = endOfFraction(text);
  return end <= 23 ? 0 : digits(text, 23, end) * 10 ** (29 - end);
}

/** Returns `YYYY-MM-DDTHH:mm:ss.sssZ` of Unix milliseconds from 1970 to 9999; throws for another value, a bug. */
export function formatTimestamp(unixMs: number): string {
  if (!(Number.isInteger(unixMs) && unixMs >= 0 && unixMs < endOf9999)) {
    throw new Error(`expected whole unix milliseconds in the years 1970 to 9999, got ${unixMs}`);
  }
  return new Date(unixMs).toISOString();
}

function hasDateTimeMarks(text: string): boolean {
  return (
    text.charCodeAt(4) === MINUS &&
    text.charCodeAt(7) === MINUS &&
    text.charCodeAt(10) === T &&
    text.charCodeAt(13) === COLON &&
    text.charCodeAt(16) === COLON
  );
}

/** Returns the number in [from, to), or −1 if a character is not a digit. */
function digits(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (!(digit >= 0 && digit <= 9)) return -1;
    value = value * 10 + digit;
  }
  return value;
}

const inRange = (value: number, max: number): boolean => value >= 0 && value <= max;

/** Returns the days from 1970-01-01 to a date of the proleptic Gregorian calendar, or −1 for an invalid date. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  if (year < 1970 || month < 1 || month > 12 || day < 1) return -1;
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const before = daysBefore[month] ?? 0;
  const length = month === 2 && leap ? 29 : (daysBefore[month + 1] ?? 0) - before;
  if (day > length) return -1;
  const past = year - 1;
  const leapDays = Math.floor(past / 4) - Math.floor(past / 100) + Math.floor(past / 400) - 477; // 477 up to 1969
  return (year - 1970) * 365 + leapDays + before + (leap && month > 2 ? 1 : 0) + day - 1;
}

/** Returns the end of the fraction that may begin at character 19, or −1 for an empty one or more than 9 digits. */
function endOfFraction(text: string): number {
  if (text.charCodeAt(19) !== DOT) return 19;
  let end = 20;
  while (digits(text, end, end + 1) >= 0) end++;
  return end > 20 && end <= 29 ? end : -1;
}

function fractionMs(text: string, end: number): number {
  if (end <= 20) return 0;
  const kept = Math.min(end, 23);
  return digits(text, 20, kept) * 10 ** (23 - kept);
}

/** Returns the offset at the end of the text, or null if the text ends otherwise. */
function offsetMs(text: string, at: number): number | null {
  const sign = text.charCodeAt(at);
  if (sign === Z) return at + 1 === text.length ? 0 : null;
  if ((sign !== PLUS && sign !== MINUS) || at + 6 !== text.length || text.charCodeAt(at + 3) !== COLON)
    return null;
  const hours = digits(text, at + 1, at + 3);
  const minutes = digits(text, at + 4, at + 6);
  if (!inRange(hours, 23) || !inRange(minutes, 59)) return null;
  return (hours * 60 + minutes) * (sign === MINUS ? -minuteMs : minuteMs);
}

/** Returns the refusal of an event whose time exceeds `limits.futureSkewSeconds` (contract E6). */
export function futureRefusal(sent: string, nowMs: number): string {
  const latest = formatTimestamp(nowMs + limits.futureSkewSeconds * 1000);
  return `expected ${latest} at the latest, ${limits.futureSkewSeconds / 3600} h ahead of now, got ${sent}`;
}

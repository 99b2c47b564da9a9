/**
 * Converts times of other programs to RFC 3339 in the profile of contract A3.
 * Tested by `test/core/intake/time.test.ts`.
 */
import { formatTimestamp, parseTimestamp } from '../time.ts';

export interface SourceTime {
  readonly timestamp: string;
  readonly source: 'source' | 'assumed_utc';
  readonly unixMs: number;
}

const written = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(\.\d+)?\s*(Z|z|[+-]\d{2}(?::?\d{2})?)?$/;

/**
 * Returns the time that a source wrote. RFC 3339 text stays unchanged; a missing offset counts as UTC and is marked; plain
 * numbers are Unix seconds or, from 10^11, milliseconds. Null for a value that is not a time between 1970 and 9999.
 */
export function readTime(value: unknown): SourceTime | null {
  if (typeof value === 'number') return fromNumber(value);
  if (typeof value !== 'string') return null;
  const exact = parseTimestamp(value);
  if (exact !== null) return { timestamp: value, source: 'source', unixMs: exact };
  const parts = written.exec(value.trim());
  if (parts === null) return null;
  const [, date, clock, fraction = '', offset] = parts;
  const timestamp = `${date}T${clock}${fraction.slice(0, 10)}${fullOffset(offset)}`;
  const unixMs = parseTimestamp(timestamp);
  if (unixMs === null) return null;
  return { timestamp, source: offset === undefined ? 'assumed_utc' : 'source', unixMs };
}

function fromNumber(value: number): SourceTime | null {
  const unixMs = Math.floor(value < 1e11 ? value * 1000 : value);
  if (!(unixMs > 0 && unixMs < Date.UTC(9999, 0, 1))) return null;
  return { timestamp: formatTimestamp(unixMs), source: 'source', unixMs };
}

function fullOffset(offset: string | undefined): string {
  if (offset === undefined || offset.toUpperCase() === 'Z') return 'Z';
  const digits = offset.slice(1).replace(':', '').padEnd(4, '0');
  return `${offset[0]}${digits.slice(0, 2)}:${digits.slice(2)}`;
}

/** Months of quotas: calendar months, UTC, written `2026-11` (contract I7). */
import { limits } from '../../contract/limits.ts';
import { formatTimestamp } from '../../core/time.ts';

export const monthOf = (unixMs: number): string => formatTimestamp(unixMs).slice(0, 7);

/** When the next month begins, Unix milliseconds. `month` is one of the years 1970 to 9998. */
export function endOfMonth(month: string): number {
  const [year = '', number = ''] = month.split('-');
  return Date.UTC(Number(year), Number(number), 1);
}

/** Whether a month was billed when a report of it came. */
export const isBilled = (month: string, atMs: number): boolean =>
  atMs > endOfMonth(month) + limits.lateReportHours * 3_600_000;

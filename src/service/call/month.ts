/**
 * Months of quotas: calendar months in UTC, written `2026-11` (contract I7). Proven by
 * `test/service/call/month.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { formatTimestamp } from '../../core/time.ts';

export const monthOf = (unixMs: number): string => formatTimestamp(unixMs).slice(0, 7);

/** When the next month begins, in Unix milliseconds. `month` is one of the years 1970 to 9998. */
export function endOfMonth(month: string): number {
  const [year = '', number = ''] = month.split('-');
  return Date.UTC(Number(year), Number(number), 1);
}

/** Whether a month was already billed when a report of it arrived. */
export const isMonthBilled = (month: string, atMs: number): boolean =>
  atMs > endOfMonth(month) + limits.lateReportHours * 3_600_000;

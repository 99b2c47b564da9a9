import { expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { endOfMonth, isMonthBilled } from '../../../src/service/call/month.ts';

it('a month is billed a fixed number of hours after its end', () => {
  const lastMs = Date.UTC(2027, 0, 1) + limits.lateReportHours * 3_600_000;
  expect(endOfMonth('2026-12')).toBe(Date.UTC(2027, 0, 1));
  expect([isMonthBilled('2026-12', lastMs), isMonthBilled('2026-12', lastMs + 1)]).toEqual([false, true]);
});

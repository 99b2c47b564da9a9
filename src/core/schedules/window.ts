/**
 * The period that a scheduled report covers: the calendar day, week (from Monday, ISO 8601), month or quarter before the
 * one in which it is due, in the time zone of the schedule. Proven by `test/core/schedules/window.test.ts`.
 */
import { addTo, dayAt, startOf, weekdayOf, type Day } from './zone.ts';

export type ReportWindow = 'previous_day' | 'previous_week' | 'previous_month' | 'previous_quarter';

/** Unix milliseconds; the period ends before `endMs`, with which the next one begins. */
export interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

/** `zone` is an IANA name. RangeError for another text. */
export function periodOf(window: ReportWindow, dueMs: number, zone: string): Period {
  const [first, after] = daysOf(window, dayAt(dueMs, zone));
  return { startMs: startOf(first, zone), endMs: startOf(after, zone) };
}

/** The first day of the period, and the first day after it. */
function daysOf(window: ReportWindow, today: Day): readonly [Day, Day] {
  switch (window) {
    case 'previous_day':
      return [addTo(today, { days: -1 }), today];
    case 'previous_week': {
      const monday = addTo(today, { days: -weekdayOf(today) });
      return [addTo(monday, { days: -7 }), monday];
    }
    case 'previous_month': {
      const first = { ...today, day: 1 };
      return [addTo(first, { months: -1 }), first];
    }
    case 'previous_quarter': {
      const first = { ...today, day: 1, month: today.month - ((today.month - 1) % 3) };
      return [addTo(first, { months: -3 }), first];
    }
  }
}

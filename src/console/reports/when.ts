/**
 * When a schedule is due, as a person chooses it and as a cron expression. Proven by `test/console/reports/when.test.ts`.
 */
import type { ReportSchedule } from '../../contract/report-schedules.ts';

export const weekdays = [
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
  'Sunday',
] as const;

/** A day of the month that is not in every month is no choice; `L` is its last day. */
export const monthDays: readonly string[] = [...Array.from({ length: 28 }, (_, at) => String(at + 1)), 'L'];

export interface ScheduleChoice {
  readonly every: 'day' | 'week' | 'month' | 'cron';
  /** `06:00`. */
  readonly time: string;
  readonly weekday: string;
  /** Of `monthDays`. */
  readonly day: string;
  /** The expression of `every: 'cron'`. */
  readonly cron: string;
}

export function cronOf({ every, time, weekday, day, cron }: ScheduleChoice): string {
  if (every === 'cron') return cron.trim();
  const [hour, minute] = time.split(':').map(Number);
  const onDay = every === 'month' ? day : '*';
  const onWeekday = every === 'week' ? weekday.slice(0, 3).toUpperCase() : '*';
  return `${minute} ${hour} ${onDay} * ${onWeekday}`;
}

/** `day 1`, `the last day`. */
export const monthDayText = (day: string): string => (day === 'L' ? 'the last day' : `day ${day}`);

/** `every Monday at 06:00`; the expression itself if `cronOf` makes no such expression. */
export function whenText(cron: string): string {
  const found = /^([0-5]?\d) ([01]?\d|2[0-3]) (\*|L|[12]?\d) \* (\*|[A-Z]{3})$/i.exec(cron.trim());
  if (found === null) return cron;
  const [, minute = '', hour = '', day = '', code = ''] = found;
  const at = `at ${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
  if (code === '*')
    return day === '*' ? `every day ${at}` : `${monthDayText(day.toUpperCase())} of each month ${at}`;
  const weekday = weekdays.find((each) => each.slice(0, 3).toUpperCase() === code.toUpperCase());
  return weekday === undefined || day !== '*' ? cron : `every ${weekday} ${at}`;
}

/** The period of a report, as a sentence goes on after `about`. */
export const windowTexts: Readonly<Record<ReportSchedule['window'], string>> = {
  previous_day: 'the day before',
  previous_week: 'the week before',
  previous_month: 'the month before',
  previous_quarter: 'the quarter before',
};

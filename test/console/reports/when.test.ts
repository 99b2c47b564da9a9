import { describe, expect, it } from 'vitest';
import {
  cronOf,
  monthDays,
  weekdays,
  whenText,
  type ScheduleChoice,
} from '../../../src/console/reports/when.ts';
import { readCron } from '../../../src/core/schedules/cron.ts';

const base: ScheduleChoice = { every: 'day', time: '06:05', weekday: 'Monday', day: '1', cron: '' };

describe('when a schedule is due', () => {
  it.each([
    [{ every: 'day' }, '5 6 * * *', 'every day at 06:05'],
    [{ every: 'week', weekday: 'Sunday' }, '5 6 * * SUN', 'every Sunday at 06:05'],
    [{ every: 'month' }, '5 6 1 * *', 'day 1 of each month at 06:05'],
    [{ every: 'month', day: 'L', time: '23:00' }, '0 23 L * *', 'the last day of each month at 23:00'],
  ] as const)('the choice %j is %s, which reads as %s', (members, cron, text) => {
    expect(cronOf({ ...base, ...members })).toBe(cron);
    expect(whenText(cron)).toBe(text);
  });

  it('every choice is an expression that the scheduler understands, and reads as words', () => {
    const choices: ScheduleChoice[] = [
      ...weekdays.map((weekday) => ({ ...base, every: 'week', weekday }) as const),
      ...monthDays.map((day) => ({ ...base, every: 'month', day }) as const),
    ];
    for (const cron of choices.map(cronOf)) {
      expect([cron, typeof readCron(cron, 'Europe/Zurich', Date.UTC(2026, 0, 1))]).toEqual([cron, 'object']);
      expect(whenText(cron)).toMatch(/ at 06:05$/);
    }
  });

  it.each(['0 6 * * MON-FRI', '*/5 * * * *', '0 6 1 1,4,7,10 *', '0 6 1 * MON', '0 24 * * *', '0 6 * * XYZ'])(
    'the expression %s, which has no such words, stays as it is',
    (cron) => {
      expect(whenText(cron)).toBe(cron);
      expect(cronOf({ ...base, every: 'cron', cron: ` ${cron} ` })).toBe(cron);
    },
  );
});

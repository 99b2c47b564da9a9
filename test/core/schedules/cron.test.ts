import { assert, constantFrom, integer, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCron, type CronTimes } from '../../../src/core/schedules/cron.ts';
import { threadMs } from '../../thread-ms.ts';

const now = Date.parse('2026-01-01T00:00:00Z');
const read = (text: string, zone = 'Europe/Berlin'): CronTimes => {
  const times = readCron(text, zone, now);
  if (typeof times === 'string') throw new Error(times);
  return times;
};
const timesAfter = (times: CronTimes, from: string, count: number): string[] => {
  const found: string[] = [];
  for (let at = Date.parse(from); found.length < count;) {
    const next = times.next(at);
    if (next === null) break;
    found.push(new Date(next).toISOString());
    at = next;
  }
  return found;
};

describe('the times of a cron expression', () => {
  it('is due at its hour in the zone of the schedule, in winter and in summer', () => {
    const times = read('0 6 * * MON');
    expect(timesAfter(times, '2026-03-20T00:00:00Z', 3)).toEqual([
      '2026-03-23T05:00:00.000Z',
      '2026-03-30T04:00:00.000Z',
      '2026-04-06T04:00:00.000Z',
    ]);
  });

  it('an hour that daylight saving time skips is due once, when the missing hour would begin', () => {
    // Berlin has no 02:00 to 03:00 on 29 March 2026, New York none on 8 March
    expect(timesAfter(read('30 2 * * *'), '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
    expect(timesAfter(read('30 2 * * *', 'America/New_York'), '2026-03-07T12:00:00Z', 2)).toEqual([
      '2026-03-08T07:00:00.000Z',
      '2026-03-09T06:30:00.000Z',
    ]);
  });

  it('03:30 on the morning of a missing 03:00 is due at the end of the gap', () => {
    // Athens skips 03:00 to 04:00 on 29 March 2026
    expect(timesAfter(read('30 3 * * *', 'Europe/Athens'), '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
  });

  it('an hour that comes twice is due the first time only', () => {
    expect(timesAfter(read('30 2 * * *'), '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ]);
  });

  it('a list of hours counts as fixed hours, so that a missing one is due all the same', () => {
    expect(timesAfter(read('30 2,14 * * *'), '2026-03-28T14:00:00Z', 2)).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-29T12:30:00.000Z',
    ]);
  });

  it('an expression with steps follows the clock through the repeated hour', () => {
    expect(timesAfter(read('*/30 * * * *'), '2026-10-24T23:59:00Z', 5)).toEqual([
      '2026-10-25T00:00:00.000Z',
      '2026-10-25T00:30:00.000Z',
      '2026-10-25T01:00:00.000Z',
      '2026-10-25T01:30:00.000Z',
      '2026-10-25T02:00:00.000Z',
    ]);
  });

  it('the last day of a month, the nearest weekday and the second Friday have a form', () => {
    expect(timesAfter(read('0 6 L * *', 'UTC'), '2027-02-01T00:00:00Z', 1)).toEqual([
      '2027-02-28T06:00:00.000Z',
    ]);
    expect(timesAfter(read('0 6 1W * *', 'UTC'), '2026-08-01T12:00:00Z', 1)).toEqual([
      '2026-08-03T06:00:00.000Z',
    ]);
    expect(timesAfter(read('0 6 * * FRI#2', 'UTC'), '2026-10-03T00:00:00Z', 1)).toEqual([
      '2026-10-09T06:00:00.000Z',
    ]);
  });

  it('the last due time of a time is the newest one that next finds before it, in every zone', () => {
    const zones = [
      'Europe/Berlin',
      'America/Havana',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
      'Africa/Cairo',
      'UTC',
    ];
    const texts = ['30 2 * * *', '0 0 * * *', '*/20 1-3 * * *', '15 0,12 * * MON', '0 6 L * *'];
    assert(
      property(
        constantFrom(...zones),
        constantFrom(...texts),
        integer({ min: now, max: now + 400 * 86_400_000 }),
        (zone, text, at) => {
          const times = read(text, zone);
          const next = times.next(at);
          const last = times.last(at);
          if (next === null || last === null) throw new Error('expected times on both sides');
          expect(last).toBeLessThanOrEqual(at);
          expect(next).toBeGreaterThan(at);
          expect(times.next(last)).toBe(next);
          expect(times.last(next)).toBe(next);
          expect(times.last(next - 1)).toBe(last);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('a cron expression that is refused', () => {
  it.each([
    ['0 0 30 2 *', 'whose day never exists'],
    ['0 0 31 4,6,9,11 *', 'whose day never exists'],
    ['* * * * * *', 'got 6'],
    ['* * * *', 'got 4'],
    ['@daily', 'got 1'],
    ['', 'got 1'],
    ['61 * * * *', 'Invalid value for minute'],
    ['0 24 * * *', 'Invalid value for hour'],
    ['a b c d e', 'illegal characters'],
    ['0 0 * * *\n', null],
    [`${'0,'.repeat(200)}0 * * * *`, '409 characters'],
  ])('says what was expected of %j', (text, part) => {
    const result = readCron(text, 'UTC', now);
    if (part === null) expect(result).toBeTypeOf('object');
    else expect(result).toMatch(new RegExp(`^expected .*${part}`));
  });

  it('any text gets an answer within a second', () => {
    assert(
      property(string({ unit: constantFrom(...'0123456789*,-/LW#?@ abMON'), maxLength: 40 }), (text) => {
        const started = threadMs();
        const result = readCron(text, 'America/Sao_Paulo', now);
        expect(['string', 'object']).toContain(typeof result);
        expect(threadMs() - started).toBeLessThan(1000);
      }),
      { numRuns: 300 },
    );
  });
});

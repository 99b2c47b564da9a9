import { describe, expect, it } from 'vitest';
import { aboutDuration, durationText } from '../../src/core/duration.ts';

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];

describe('a duration', () => {
  it.each([
    [0, '0 s'],
    [-5 * second, '0 s'],
    [59 * second, '59 s'],
    [59.6 * second, '1 min'],
    [4 * minute + 4 * second, '4 min 4 s'],
    [hour - 1, '1 h'],
    [3 * hour + 10 * minute + 29 * second, '3 h 10 min'],
    [day - second, '24 h'],
    [day, '24 h'],
    [47 * hour + 30 * minute, '47 h 30 min'],
    [2 * day, '2 d'],
    [2 * day + hour, '2 d 1 h'],
    [3 * day - minute, '3 d'],
  ])('of %d ms between two recorded times is %s', (ms, text) => expect(durationText(ms)).toBe(text));

  it.each([
    [0, '0 s'],
    [59 * second, '59 s'],
    [60 * second, '1 min'],
    [89 * second, '1 min'],
    [hour - second, '1 h'],
    [day - 2 * second, '24 h'],
    [day, '24 h'],
    [47.4 * hour, '47 h'],
    [47.6 * hour, '2 d'],
    [12 * day, '12 d'],
  ])('of %d ms that passes is about %s', (ms, text) => expect(aboutDuration(ms)).toBe(text));
});

/** Numbers for people: counts, and shares such as `5%` or `0.05`. Tested by `test/cli/terminal/numbers.test.ts`. */
import { usage } from '../program/exit.ts';

/** Returns `1,200`. An Intl formatter would add 8 ms to the start. */
export const number = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

/** Returns `1 event` or `1,200 events`. `many`: a plural that does not end in s, such as leaves. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`;

/** Returns a share from 0 to 1. Errors: exit 2, naming the flag. */
export function percentOf(flag: string, text: string): number {
  const [, digits = '', sign] = /^([0-9]{1,3}(?:\.[0-9]{1,6})?)(%)?$/.exec(text) ?? [];
  const share = digits === '' ? Number.NaN : Number(digits) / (sign === undefined ? 1 : 100);
  if (share >= 0 && share <= 1) return share;
  throw usage(`${flag}: expected a share such as 5% or 0.05, got ${JSON.stringify(text.slice(0, 32))}`);
}

/** `33.3 %` */
export const shownPercent = (share: number): string => `${Number((share * 100).toFixed(1))} %`;

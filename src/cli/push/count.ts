/** Numbers for people. Tested by `test/cli/progress/text.test.ts`. */

/** Returns `1,200`. An Intl formatter would add 8 ms to the start. */
export const number = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

/** Returns `1 event` or `1,200 events`. */
export const counted = (count: number, one: string): string =>
  `${number(count)} ${one}${count === 1 ? '' : 's'}`;

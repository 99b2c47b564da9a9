/** Counts as people read them. */

/** `1,200`. An Intl formatter would cost 8 ms at the start. */
export const number = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

/** `1 event`, `1,200 events`. */
export const counted = (count: number, one: string): string =>
  `${number(count)} ${one}${count === 1 ? '' : 's'}`;

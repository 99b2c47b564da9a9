/** `1 event`, `2 events`, `1,200 events`. `noun`: in the singular. */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

/** Shares on the command line: `5%`, or a fraction such as `0.05`. */
import { usage } from '../program/exit.ts';

/** From 0 to 1. Errors: exit 2, naming the flag. */
export function percentOf(flag: string, text: string): number {
  const [, digits = '', sign] = /^([0-9]{1,3}(?:\.[0-9]{1,6})?)(%)?$/.exec(text) ?? [];
  const share = digits === '' ? Number.NaN : Number(digits) / (sign === undefined ? 1 : 100);
  if (share >= 0 && share <= 1) return share;
  throw usage(`${flag}: expected a share such as 5% or 0.05, got ${JSON.stringify(text.slice(0, 32))}`);
}

/** `33.3 %` */
export const shownPercent = (share: number): string => `${Number((share * 100).toFixed(1))} %`;

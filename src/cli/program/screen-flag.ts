/** The flag that commands with a screen share. */
import type { FlagSpec } from './spec.ts';

export const asciiFlag = {
  type: 'boolean',
  description: 'Draw the screen in ASCII; default where the locale is not UTF-8',
} as const satisfies FlagSpec;

/** The flag that commands with a screen share. */
import { flag } from './spec.ts';

export const asciiFlag = flag.on('Draw the screen in ASCII; default where the locale is not UTF-8');

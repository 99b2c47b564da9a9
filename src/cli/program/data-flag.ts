/** The flag `--data` of commands that open a data directory. Tested by `test/cli/program/manifest.test.ts`. */
import { flag } from './spec.ts';

export const data = flag.text('DIR', 'Data directory; default: that of the chosen context');

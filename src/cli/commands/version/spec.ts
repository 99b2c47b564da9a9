/** `gov version`, as data. Tested by `test/cli/main.test.ts`. */
import { command } from '../../program/spec.ts';

export const version = command({
  name: 'version',
  prints: 'version node platform',
  summary: 'Print the version',
  examples: ['gov version', 'gov version -o json'],
});

/** `gov version`, as data. Tested by `test/cli/main.test.ts`. */
import { command } from '../../program/spec.ts';

export const version = command({
  name: 'version',
  prints: 'version node platform build',
  summary: 'Print the version',
  details: [
    'build names what runs: -dev until the release is in the changelog, then commit and database versions.',
  ],
  examples: ['gov version', 'gov version -o json'],
});

/** `gov commands`, as data. Tested by `test/cli/program/manifest.test.ts`. */
import { command } from '../../program/spec.ts';

export const commands = command({
  name: 'commands',
  prints: 'name version commands:array globalFlags:array exitCodes:object environment:object',
  summary: 'List every command; with -o json the whole manifest, for programs',
  examples: ['gov commands', 'gov commands -o json'],
});

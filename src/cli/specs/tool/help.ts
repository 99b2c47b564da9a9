/** `gov help`, as data. Tested by `test/cli/main.test.ts`. */
import { command } from '../../program/spec.ts';

export const help = command({
  name: 'help',
  prints: 'none',
  summary: 'Show help on a command or a topic: exit-codes, environment, ci, scripting, formatting',
  args: [{ name: 'topic', description: 'Words of a command, or a topic', optional: true, variadic: true }],
  examples: ['gov help events list', 'gov help exit-codes'],
});

/** Commands of the noun alias, as data. Tested by `test/cli/grammar/alias.test.ts`. */
import { command } from '../../program/spec.ts';

const name = { name: 'name', description: 'Name of the alias' } as const;

export const aliasSet = command({
  name: 'alias set',
  prints: 'none',
  summary: 'Make a word of your own for a command, or change it',
  details: [
    'gov replaces the word by the text. In the text, $1 to $9 are the words that follow, and words without a place come last; $$ is a dollar sign. An alias may use another one. It cannot have the name of a command, and no shell reads the text. Put -- before the name if the text begins with a dash.',
  ],
  args: [name, { name: 'expansion', description: 'The words of the command after gov, as one quoted text' }],
  examples: [
    "gov alias set denied 'events list --decision deny --since 1h'",
    "gov alias set story 'runs show $1 -o wide'",
    "gov alias set -- acme '-C acme top'",
  ],
});

export const aliasList = command({
  name: 'alias list',
  prints: 'aliases[] name expansion problem:string|null',
  summary: 'List your aliases',
  examples: ['gov alias list'],
});

export const aliasDelete = command({
  name: 'alias delete',
  prints: 'none',
  summary: 'Delete an alias',
  args: [name],
  examples: ['gov alias delete denied'],
  exitCodes: { 5: 'there is no alias of this name' },
});

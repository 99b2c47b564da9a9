/** `gov completion`, as data. Tested by `test/cli/program/completion.test.ts`. */
import { command } from '../../program/spec.ts';

export const completion = command({
  name: 'completion',
  summary: 'Print a completion script for a shell',
  args: [{ name: 'shell', description: 'bash, zsh or fish' }],
  examples: ['source <(gov completion bash)', 'gov completion fish > ~/.config/fish/completions/gov.fish'],
});

/** `gov completion`, as data. Tested by `test/cli/completion/scripts.long.test.ts`. */
import { command } from '../../program/spec.ts';

export const completion = command({
  name: 'completion',
  prints: 'none',
  summary: 'Print a completion script for a shell',
  details: [
    'At Tab the script asks gov for commands, flags and words, and for ids of the chosen context: runs, policies, approvals, proofs, reports, keys and jobs. A service that does not answer within a second offers none.',
  ],
  args: [
    {
      name: 'shell',
      description: 'bash, zsh, fish or powershell',
      choices: ['bash', 'zsh', 'fish', 'powershell'],
    },
  ],
  examples: [
    'source <(gov completion bash)',
    'source <(gov completion zsh)',
    'gov completion fish > ~/.config/fish/completions/gov.fish',
    'gov completion powershell | Out-String | Invoke-Expression',
  ],
});

/** Commands of the noun runs, as data. Tested by `test/cli/commands/runs/coverage.test.ts`. */
import { command } from '../../program/spec.ts';

export const runsCoverage = command({
  name: 'runs coverage',
  summary: 'Compare the sources of a run: what ran ungoverned, and what is missing',
  details: [
    'For each call: governed, ungoverned (it ran, nothing decided), denied_but_ran, gap (a source lacks it), single_source (nothing else confirms it), not_run.',
    'Sources are the hook of an agent (hook), the MCP proxy (mcp), other programs that asked for decisions (direct), telemetry (otlp) and imported session files (transcript). gov finds that they disagree, not what all of them leave out.',
    'On a terminal: a table. Into a pipe: JSON.',
  ],
  args: [{ name: 'runId', description: 'Run' }],
  examples: ['gov runs coverage checkout-42', 'gov runs coverage checkout-42 | jq .counts'],
  exitCodes: {
    0: 'no call ran ungoverned or after its denial, and no source has a gap',
    3: 'a call ran ungoverned or after its denial, or a source has a gap',
  },
});

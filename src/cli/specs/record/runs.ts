/** Commands of the noun runs, as data. Tested by `test/cli/commands/runs/show.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { command, flag } from '../../program/spec.ts';
import { asciiFlag } from '../../program/screen-flag.ts';

export const runsCoverage = command({
  name: 'runs coverage',
  prints: '=getRunCoverage',
  summary: 'Compare the sources of a run: what ran ungoverned, and what is missing',
  details: [
    'For each call: governed, failed (allowed, ended with an error), user_refused (allowed, and refused by its user), denied (and nothing says that it ran), single_source (nothing else confirms it), not_run; unknown (nothing decided, and nobody knows whether it ran); ungoverned (it ran, nothing decided), denied_but_ran, mismatch (another call ran than was decided), gap (a source lacks it).',
    'Sources of one call are compared by action, where both have its arguments, else by tool: what the tool is for.',
    'The ending of a call is ok, error, refused, denied, timed_out, interrupted, unanswered, or unknown where no source says it.',
    'Sources are the hook of an agent (hook), the MCP proxy (mcp), other programs that asked for decisions (direct), telemetry (otlp), imported session files (transcript) and programs that the kernel saw (kernel). gov finds that they disagree, not what all of them leave out.',
    'On a terminal: a table. Into a pipe: JSON.',
  ],
  args: [{ name: 'runId', description: 'Run' }],
  examples: ['gov runs coverage checkout-42', 'gov runs coverage checkout-42 | jq .counts'],
  exitCodes: {
    0: 'no call ran ungoverned, after its denial or in place of the decided one, and no source has a gap',
    3: 'a call ran ungoverned, after its denial or in place of the decided one, or a source has a gap',
    9: 'no such call, and one of which nobody knows whether it ran',
  },
});

export const runsBalance = command({
  name: 'runs balance',
  prints: 'runId balanced:boolean|null code:string|null files:array',
  summary: 'Show what became of each call, result, prompt and answer of the files of a run',
  details: [
    'For each file that events push --from read: found + unseen = recorded + observed + inherited + repeated + excepted + leftOut. found is counted by the shape of the JSON alone.',
    'balanced is null where nothing was compared, or a recording of the run has no balance; code says why.',
    'It is the word of the importer. --recording counts the raw file again on this machine: its SHA-256 says which balance is its own, and every sum must be the same.',
    'On a terminal: a table, and each place that is left out.',
  ],
  args: [{ name: 'runId', description: 'Run' }],
  flags: {
    recording: flag.text('FILE', 'Count this file again, and compare it with its balance'),
  },
  examples: [
    'gov runs balance checkout-42',
    'gov runs balance checkout-42 --recording s.jsonl',
    'gov runs balance checkout-42 -o json | jq .files[].remainder',
  ],
  exitCodes: {
    0: 'all files balance, and nothing is left out; also for a run without a recording',
    3: 'something is left out, the sums do not come out, or --recording differs',
    9: 'not known: a recording has no balance, or nothing of it was compared',
  },
});

export const runsShow = command({
  name: 'runs show',
  prints:
    'runId events:object coverage:object models:object calls:array approvals:array proof:object|null cut:array',
  summary: 'Show a run: its events, tool calls with their decisions, approvals, coverage, newest proof',
  details: [
    'Nothing is verified: the proof is shown as the service stores it, with the command that verifies it.',
    `Reads the newest ${limits.runShowEvents} events and ${limits.runShowDecisions} decisions. A terminal shows ${limits.runShowCalls} calls, the worst first. Whatever is left out is named, with the command that shows it.`,
    'On a terminal: text. Into a pipe: one JSON document, with up to 1,000 calls. Needs the scopes events:read, governance:read and proofs:read.',
  ],
  args: [{ name: 'runId', description: 'Run' }],
  examples: [
    'gov runs show checkout-42',
    'gov runs show checkout-42 | jq \'.calls[] | select(any(.decisions[]; .decision == "deny"))\'',
  ],
});

export const runsBrowse = command({
  name: 'runs browse',
  prints: 'none',
  summary: 'Browse runs on a screen: timeline, event, decision with its clause, proof',
  details: [
    'Enter goes from the runs to the timeline of one, to an event, to its decision, to the proof; esc goes back. / filters, ? shows the keys.',
    'The proof is verified on this machine with the trust file of the context; without one the screen shows the word of the service.',
    'Into a pipe: all runs, one JSON object per line.',
  ],
  flags: { ascii: asciiFlag },
  examples: ['gov runs browse', 'gov runs browse -C production'],
});

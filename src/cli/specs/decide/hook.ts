/** The command hook, as data. Tested by `test/cli/agents/hook.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { agentClients } from '../../../core/agents/clients.ts';
import { command, flag } from '../../program/spec.ts';

export const hook = command({
  name: 'hook',
  prints: 'none',
  summary: 'Decide and record what an agent does; its client runs this',
  changes: true,
  details: [
    'Reads one event of the client as JSON from standard input, and answers in the form of the client. Before a tool runs, it evaluates the policies and records the decision. gov agents install writes this command into the settings of a client.',
    'Without a decision that is durable in the log, the call does not run: exit code 2, and the reason on standard error. That takes at most 5 s.',
  ],
  args: [{ name: 'client', description: `One of ${agentClients.join(', ')}`, choices: agentClients }],
  flags: {
    config: flag.text('FILE', 'Address and key; default: agents.json in the folder of the configuration'),
    hold: flag.integer(
      'SECONDS',
      'How long a call may wait for the decision of a person; the client must wait longer; default: 0',
      { minimum: 0, maximum: limits.holdMostSeconds },
    ),
    fail: flag.text(
      'MODE',
      'open: a call runs if no decision is available, but only where root has put {"allowFailOpen": true} into /etc/gov/agents.json; default: closed',
      { choices: ['closed', 'open'] },
    ),
  },
  examples: [
    'gov hook claude-code < event.json',
    'gov hook codex --config /etc/gov/agents.json < event.json',
  ],
  exitCodes: { 1: 'the event was not recorded', 2: 'the call must not run' },
});

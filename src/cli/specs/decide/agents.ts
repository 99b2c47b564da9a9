/** Commands of the noun agents, as data. Tested by `test/cli/agents/install.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { agentClients } from '../../../core/agents/clients.ts';
import { command, flag } from '../../program/spec.ts';

const client = {
  name: 'client',
  description: `One of ${agentClients.join(', ')}; default: those on PATH`,
  choices: agentClients,
  optional: true,
} as const;
const scope = flag.text(
  'SCOPE',
  'user: the files of this user. managed: those of the administrator in /etc, which no user and no project overrides; default: user. Root has no default',
  { choices: ['user', 'managed'] },
);
const dryRun = flag.on('Show the changes of files, and change nothing');

export const agentsInstall = command({
  name: 'agents install',
  prints: 'dryRun:boolean files:array',
  summary: 'Let the plane decide what the agents on this machine do',
  changes: { without: 'dryRun' },
  details: [
    'Writes gov hook into the settings of each client, so that a call runs only after a decision that is in the log. Settings of the user stay. gov agents uninstall takes everything back.',
    'Hooks get a key of their own, which may evaluate and record: agent.key of a plane on this machine, else a new one. The hook runs without the variables of the session, because a project can set them.',
    'For one user, Claude Code and Codex also send OpenTelemetry to the plane, unless they have an endpoint already.',
    'With --scope managed and sudo, it is about the plane of the user who ran sudo. After a question it moves that plane to the Unix user gov, in /var/lib/gov, so that the agents of the user cannot write its files. Commands about the plane then need sudo.',
    'With --scope managed, Claude Code also gets the settings that close the known ways around hooks: it starts no MCP server but those behind gov mcp proxy, runs no shell lines of skills, and no helpers for credentials of a home or a project. gov agents doctor names what stays open.',
    'With --sandbox, Claude Code runs no shell command outside of its sandbox, and none where it has no sandbox; it denies the known files that the policies refuse and, if they restrict hosts, all hosts but those that they name and allow. Its file tools stay outside, where hooks decide. Codex loses its mode without a sandbox, as documented. A later change of policies needs the command again.',
    'Cursor is set up as its documentation says. Nobody has tested it.',
  ],
  args: [client],
  flags: {
    scope,
    dryRun,
    keyFile: flag.text(
      'FILE',
      'Key of the hooks, with the scopes tools:evaluate and events:write; default: agent.key of a plane on this machine, else a new one',
    ),
    hold: flag.integer(
      'SECONDS',
      'How long a call waits for the decision of a person; default: hold.seconds in plane.json of a plane on this machine, else 0',
      { minimum: 0, maximum: limits.holdMostSeconds },
    ),
    keepPlane: flag.on('With --scope managed: leave a plane of a user where it is'),
    lockPath: flag.on(
      'With --scope managed: set PATH of the programs that Claude Code starts to the folders of this PATH that root alone can write',
    ),
    sandbox: flag.on(
      'With --scope managed: write what the policies refuse now into the sandboxes that Claude Code and Codex have of their own',
    ),
    withoutTelemetry: flag.on('Leave the OpenTelemetry settings of the client alone'),
  },
  examples: [
    'gov agents install --dry-run',
    'gov agents install claude-code',
    'sudo gov agents install --scope managed',
  ],
  exitCodes: {
    2: 'a client is too old, or no file could be edited; nothing was changed',
    9: 'the file of a client could not be edited; the others are set up',
  },
});

export const agentsUninstall = command({
  name: 'agents uninstall',
  prints: 'dryRun:boolean files:array',
  summary: 'Take back what gov agents install did',
  changes: { without: 'dryRun' },
  details: [
    'A file that nobody changed since gets its old bytes back. From another one gov removes its own settings only. The key of the hooks is revoked with the last client.',
  ],
  args: [{ ...client, description: `One of ${agentClients.join(', ')}; default: all` }],
  flags: { scope, dryRun },
  examples: ['gov agents uninstall --dry-run', 'gov agents uninstall codex'],
  exitCodes: { 9: 'the file of a client could not be edited; what gov wrote into the others is removed' },
});

export const agentsDoctor = command({
  name: 'agents doctor',
  prints: 'ok:boolean clients:array',
  summary: 'Whether a call of an agent could run without a decision',
  details: [
    'For each client: found, version, where hooks are installed, whether Codex trusts them, whether every failure blocks the call, and whether the plane decides with the key of the hooks.',
    'Each known way around the hooks is open, closed, unknown, or has no setting that closes it. What is open names what closes it.',
  ],
  args: [client],
  examples: ['gov agents doctor', 'gov agents doctor codex -o json'],
  exitCodes: {
    3: 'a call could run without a decision, no call could run, a drill failed or is overdue, or a drill found an open way around the hooks',
  },
});

export const agentsDrill = command({
  name: 'agents drill',
  prints: 'ok:boolean drills:array bypasses?:array',
  summary: 'Let a real client ask for a forbidden call, and see that it is stopped and recorded',
  changes: true,
  details: [
    'The real client runs against a model that gov imitates. This model asks for a call that the policy gov-drill denies. The drill fails if the call runs, or if the log lacks its refusal. It creates and publishes that policy when it is missing.',
    'The result is an event in the run agent-drills. Run it daily, as the user of the agent: the client and its settings are on the machine of the agent, which need not be the machine of the plane. The plane reports failed drills, and overdue ones where plane.json has drills.',
    'With --bypasses the client then tries the known ways around its hooks, one after the other, with copies of its settings. A way is open if it worked without a decision. It is shut if it did not, and works where gov is not in the way; the second attempt hides the files of the administrator with bwrap. Else it is not shown.',
  ],
  args: [{ ...client, description: 'claude-code, codex, gemini or opencode; default: those on PATH' }],
  flags: {
    bypasses: flag.on('Also try the known ways around the hooks: about 4 s each'),
    every: flag.duration(
      'TIME',
      'Install a timer of this user instead, such as 24h: with systemd, launchd or cron. gov agents uninstall removes it',
      { minimum: 3_600_000 },
    ),
    dryRun: flag.on('With --every: show the timer, and install nothing'),
  },
  examples: [
    'gov agents drill',
    'gov agents drill claude-code -o json',
    'gov agents drill --bypasses',
    'gov agents drill --every 24h',
  ],
  exitCodes: {
    3: 'the call ran, it was not recorded, or a way around the hooks is open',
    5: 'no client to test',
    9: 'no way is open, but some are not shown',
  },
});

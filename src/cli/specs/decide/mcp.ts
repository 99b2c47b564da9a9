/** Commands of the noun mcp, as data. Tested by `test/cli/commands/mcp/stdio.test.ts` and the tests beside it. */
import { limits } from '../../../contract/limits.ts';
import { contentCaptures } from '../../../contract/projects.ts';
import { command, flag } from '../../program/spec.ts';

const server = { name: 'server', description: 'Name of the MCP server in policies' } as const;

export const mcpProxy = command({
  name: 'mcp proxy',
  prints: 'none',
  summary: 'Put an MCP server under policy: decide and record each tool call',
  changes: true,
  details: [
    'With a command after --, gov starts the server and relays its standard streams. With --url, gov listens on the loopback, prints its address, and forwards to that server. It forwards all messages unchanged, and speaks the revisions 2025-06-18, 2025-11-25 and 2026-07-28.',
    'A tool call goes to the server only after the plane allowed it and its start is recorded. Without a decision, gov answers the call itself and says why. Other requests, such as ping or resources/read, pass without a decision.',
    'The first definition of each tool is pinned in the log of the plane. A call of a tool with another definition does not run until a person accepts it: gov mcp pin.',
  ],
  args: [
    {
      name: 'command',
      description: 'The server and its arguments, after --',
      variadic: true,
      optional: true,
    },
  ],
  flags: {
    url: flag.text('URL', 'The server, over Streamable HTTP'),
    listen: flag.text('ADDRESS', 'With --url: loopback address and port; default 127.0.0.1:0, a free port'),
    name: flag.text(
      'NAME',
      'Name of the server in policies (tool.server) and for its pins; default: from the command or URL',
      { pattern: `^[A-Za-z0-9][A-Za-z0-9._-]{0,${limits.mcpServerNameChars - 1}}$` },
    ),
    run: flag.text(
      'RUN',
      'Run of all calls; default: the run that the trace context of a call names, else a new one',
    ),
    actor: flag.text('NAME', 'Name of the agent; default: what the client says of itself'),
    policy: flag.list('ID', 'Evaluate these policies; default: all active ones', { separator: ',' }),
    content: flag.text('WHAT', 'What events keep of arguments and results: none, hashes (default) or full', {
      choices: contentCaptures,
    }),
  },
  ownsSignals: true,
  examples: [
    'gov mcp proxy --name files -- npx -y @modelcontextprotocol/server-filesystem /srv/claims',
    'gov mcp proxy --name crm --url https://mcp.example.com/mcp --listen 127.0.0.1:7480',
  ],
  exitCodes: {
    0: 'the exit code of the server; with --url, after a signal',
    126: 'the server could not be started',
    127: 'the server’s command was not found',
  },
});

export const mcpList = command({
  name: 'mcp list',
  prints: 'server tools:array',
  summary: 'List the pinned tool definitions of a server, and what has changed',
  args: [server],
  examples: ['gov mcp list files', 'gov mcp list files -o json'],
  exitCodes: { 3: 'a definition has changed and nobody has accepted it' },
});

export const mcpPin = command({
  name: 'mcp pin',
  prints: 'server policyId version:integer tools:array',
  summary: 'Accept the newest definitions of a server’s tools, and refuse all others',
  changes: true,
  details: [
    'Publishes the policy mcp-pins.SERVER, which denies the tools under any other definition. The plane enforces it. This needs the scope governance:manage, which the key of an agent should not have.',
  ],
  args: [
    server,
    {
      name: 'tools',
      description: 'Only these tools; default: all that were seen',
      variadic: true,
      optional: true,
    },
  ],
  examples: ['gov mcp pin files', 'gov mcp pin files read_file --yes'],
});

export const mcpMap = command({
  name: 'mcp map',
  prints: 'server policyId version:integer tool map:object',
  summary: 'Say where the arguments of an MCP tool have amount, currency and counterparty',
  changes: true,
  details: [
    'Publishes the policy mcp-map.SERVER, from which the plane computes action.money of calls of the tool, instead of from usual names such as amount and currency. A member that a call lacks is unknown, so that a limit about it does not pass. A map can hide an amount: once an approver exists, each change of it needs a signature.',
  ],
  args: [
    server,
    { name: 'tool', description: 'Name of the tool' },
    {
      name: 'members',
      description: 'amount=/POINTER, and currency=/POINTER, counterparty=/POINTER (RFC 6901)',
      variadic: true,
    },
  ],
  examples: ['gov mcp map bank transfer amount=/value/cents currency=/value/unit counterparty=/to'],
});

export const mcpMaps = command({
  name: 'mcp maps',
  prints: 'server tools:array',
  summary: 'List where the tools of an MCP server have money',
  args: [server],
  examples: ['gov mcp maps bank'],
});

export const mcpUnmap = command({
  name: 'mcp unmap',
  prints: 'server policyId version:integer tool',
  summary: 'Remove the map of a tool: its money has usual names again',
  changes: true,
  args: [server, { name: 'tool', description: 'Name of the tool' }],
  examples: ['gov mcp unmap bank transfer'],
});

export const mcpWrap = command({
  name: 'mcp wrap',
  prints: 'config dryRun:boolean undo:boolean servers:array',
  summary: 'Rewrite the configuration of a client so that its MCP servers run through gov mcp proxy',
  details: [
    'Changes the command and the arguments of each server that the client starts, and no other byte. What it replaces is kept in CONFIG.gov-mcp-wrap.json, and --undo puts it back. Servers at a URL are reported and stay: run gov mcp proxy --url for them, and put its address into the configuration.',
    'Without CONFIG: .mcp.json or ~/.claude.json (claude), config.toml in CODEX_HOME or ~/.codex (codex), .cursor/mcp.json here or in the home (cursor), .gemini/settings.json here or in the home (gemini).',
  ],
  args: [
    {
      name: 'client',
      description: 'claude (or claude-code), codex, cursor or gemini',
      choices: ['claude', 'claude-code', 'codex', 'cursor', 'gemini'],
    },
    { name: 'config', description: 'File to change', optional: true },
  ],
  flags: {
    undo: flag.on('Put back what was replaced'),
    dryRun: flag.on('Show the change, and change nothing'),
    program: flag.text(
      'PATH',
      'Path of gov in the configuration; default: this one, started by this Node where GOV_NODE is set',
    ),
  },
  examples: ['gov mcp wrap claude --dry-run', 'gov mcp wrap codex', 'gov mcp wrap cursor --undo'],
  exitCodes: { 9: 'some servers were not wrapped, or could not be restored' },
});

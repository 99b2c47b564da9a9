/** The programs that `gov hook` and `gov agents` know. Commands load this list alone. */
export const agentClients = ['claude-code', 'codex', 'gemini', 'cursor', 'opencode'] as const;
export type AgentClient = (typeof agentClients)[number];

export const clientTitles: Readonly<Record<AgentClient, string>> = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  gemini: 'Gemini CLI',
  cursor: 'Cursor',
  opencode: 'OpenCode',
};

/** What hooks and MCP proxies do: decide, record, and read decisions, approvals and pins. */
export const agentScopes = ['tools:evaluate', 'events:write', 'events:read', 'governance:read'] as const;

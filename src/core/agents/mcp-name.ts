/**
 * The MCP server and tool in a client's name of a tool, `mcp__SERVER__TOOL`. The name alone is ambiguous: the tool `eu__pay`
 * of `bank` and the tool `pay` of `bank__eu` are written alike. Then the configured servers decide, or nobody does.
 * Proven by `test/core/agents/mcp-name.test.ts`.
 */

export interface McpTool {
  readonly server: string;
  readonly name: string;
}

/** Claude Code and Codex write other characters of a name as `_`. */
const writtenName = (server: string): string => server.replace(/[^A-Za-z0-9_-]/g, '_');

/** Every way to read the name, the shortest server first; empty for a tool of the client. */
export function readingsOf(toolName: string): McpTool[] {
  const rest = toolName.startsWith('mcp__') ? toolName.slice('mcp__'.length) : '';
  const readings: McpTool[] = [];
  for (let at = rest.indexOf('__', 1); at >= 0; at = rest.indexOf('__', at + 1)) {
    const tool = { server: rest.slice(0, at), name: rest.slice(at + 2) };
    if (tool.name !== '') readings.push(tool);
  }
  return readings;
}

/**
 * Returns the one tool that the name means. Null if several readings are possible, and the configured servers are unknown
 * or do not tell them apart.
 */
export function resolvedMcp(toolName: string, configured: Iterable<string> | null): McpTool | null {
  const readings = readingsOf(toolName);
  if (readings.length <= 1) return readings[0] ?? null;
  if (configured === null) return null;
  const known = new Set([...configured].map(writtenName));
  const [only, ...others] = readings.filter(({ server }) => known.has(server));
  return only === undefined || others.length > 0 ? null : only;
}

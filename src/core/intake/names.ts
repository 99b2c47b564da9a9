/** The formats that `--from` names. `registry.ts` has them; commands do not load it for a list of words. */
export const formatNames = [
  'anthropic',
  'auditd',
  'claude-code',
  'claude-stream',
  'codex',
  'copilot-cli',
  'falco',
  'gemini-cli',
  'langfuse',
  'mcp',
  'openai-chat',
  'openai-responses',
  'opencode',
  'openhands',
  'openhands-v1',
  'otlp',
  'swe-agent',
  'tetragon',
] as const;
export type FormatName = (typeof formatNames)[number];

/** The known ways around hooks, by client. */
import type { AgentClient } from '../../../../core/agents/clients.ts';
import type { Bypass } from './bypass.ts';
import { claudeCodeBypasses } from './claude-code.ts';
import { codexBypasses } from './codex.ts';
import { geminiBypasses } from './gemini.ts';
import { opencodeBypasses } from './opencode.ts';

export const bypasses: Partial<Record<AgentClient, readonly Bypass[]>> = {
  'claude-code': claudeCodeBypasses,
  codex: codexBypasses,
  gemini: geminiBypasses,
  opencode: opencodeBypasses,
};

/**
 * What a hook answers, in the client's own form. An allowed call gets no permission from here: the client then asks its
 * user as it would without the hook. Exit code 2 with a text on standard error blocks in every client; Codex 0.169 lets
 * the call run after exit code 2 without a text. Hidden characters of a call appear as escapes. Tested by `test/core/agents/hook-input.test.ts`.
 */
import type { ToolDecision } from '../../contract/tools.ts';
import { shellWord } from '../shell-word.ts';
import { visibleText } from '../visible.ts';
import type { AgentClient } from './clients.ts';

export interface HookAnswer {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: 0 | 1 | 2;
}

/** Nothing to say: the client goes on. */
export const goOn: HookAnswer = { stdout: '{}\n', stderr: '', exitCode: 0 };

/** The call must not run, whatever the client is. */
export const blocked = (text: string): HookAnswer => ({
  stdout: '',
  stderr: `gov: ${visibleText(text)}\n`,
  exitCode: 2,
});

/** Something was not recorded. The client shows it and goes on. */
export const complained = (text: string): HookAnswer => ({
  stdout: '',
  stderr: `gov: ${visibleText(text)}\n`,
  exitCode: 1,
});

/** Says what a decision means for the model and its user. */
export function decided(client: AgentClient, decision: ToolDecision): HookAnswer {
  if (!decision.allowed) return denied(client, refusalText(decision));
  if (decision.decision !== 'warn') return goOn;
  return warned(client, `gov warns about this call: ${decision.reason}`);
}

function refusalText({ decision, reason, evaluationId, approvalId }: ToolDecision): string {
  if (decision !== 'escalate' || approvalId === null)
    return `gov denied this call: ${reason} (decision ${evaluationId}). It did not run.`;
  return (
    `gov: a person must approve this call: ${reason} (approval ${approvalId}). It did not run. ` +
    `The person sees it with: gov approvals show ${shellWord(approvalId)}. After the approval, make the same call again.`
  );
}

function denied(client: AgentClient, text: string): HookAnswer {
  const reason = visibleText(text);
  switch (client) {
    case 'claude-code':
    case 'codex':
      return json({
        hookSpecificOutput: {
          hookEventName: 'PreToolUse',
          permissionDecision: 'deny',
          permissionDecisionReason: reason,
        },
      });
    case 'cursor':
      return json({ permission: 'deny', user_message: reason, agent_message: reason });
    case 'gemini':
    case 'opencode':
      return json({ decision: 'deny', reason });
  }
}

export function warned(client: AgentClient, text: string): HookAnswer {
  const shown = visibleText(text);
  return client === 'cursor' ? json({ user_message: shown }) : json({ systemMessage: shown });
}

const json = (value: object): HookAnswer => ({
  stdout: `${JSON.stringify(value)}\n`,
  stderr: '',
  exitCode: 0,
});

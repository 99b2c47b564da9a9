/**
 * What a client of agents gives a hook on standard input: one JSON object about a session, a prompt or a tool call. Each
 * client has its own names for events and members. The model controls arguments and results; the client controls the rest.
 * Tested by `test/core/agents/hook-input.test.ts` with recordings of Claude Code 2.1.331 and Codex 0.169.
 */
import { unnamedCallId } from '../intake/call-ids.ts';
import { exitCodeBelow, saysFailure } from '../intake/ending.ts';
import { isSource, textOf, type Source } from '../intake/run.ts';
import { parseLoose } from '../intake/source.ts';
import { readingsOf, type McpTool } from './mcp-name.ts';
import { isObject } from '../json/object.ts';
import { largeBounds, parseJson, type Json, type JsonObject } from '../json/parse.ts';
import { limits } from '../../contract/limits.ts';
import type { AgentClient } from './clients.ts';

/** `call` comes before a tool runs and waits for the decision. The others report only. */
type HookMoment = 'call' | 'result' | 'failure' | 'start' | 'prompt' | 'stop' | 'end';

export interface HookedTool {
  /** The client's id of the call, as its transcript and telemetry have it. */
  readonly callId: string;
  /** The client's name, such as `Bash` or `mcp__ledger__pay`. */
  readonly name: string;
  /** The MCP server and its own name for the tool; absent for a tool of the client. */
  readonly mcp: McpTool | null;
  /** The client gave server and tool apart from the name, so `mcp` is not a reading of the name. */
  readonly isNamedApart?: true;
  readonly arguments: JsonObject;
}

export interface HookInput {
  readonly client: AgentClient;
  readonly moment: HookMoment;
  /** The client's name of the event. */
  readonly eventName: string;
  readonly session: string;
  readonly subagent: string | null;
  readonly cwd: string | null;
  readonly permissionMode: string | null;
  /** Present for `call`, `result` and `failure`. */
  readonly tool: HookedTool | null;
  /** The prompt, the result, the error or the last answer. */
  readonly content: unknown;
  readonly source: Source;
}

/** The input is unusable. `gates`: it may be a call, which must not run then. */
export interface HookFault {
  readonly fault: string;
  readonly gates: boolean;
}

const shared = {
  SessionStart: 'start',
  UserPromptSubmit: 'prompt',
  PreToolUse: 'call',
  PostToolUse: 'result',
  PostToolUseFailure: 'failure',
  Stop: 'stop',
  SubagentStop: 'stop',
  SessionEnd: 'end',
} as const;

/** Events by the names of each client. */
const hookMoments: Readonly<Record<AgentClient, Readonly<Record<string, HookMoment>>>> = {
  'claude-code': shared,
  codex: shared,
  gemini: {
    SessionStart: 'start',
    BeforeAgent: 'prompt',
    BeforeTool: 'call',
    AfterTool: 'result',
    AfterAgent: 'stop',
    SessionEnd: 'end',
  },
  cursor: {
    sessionStart: 'start',
    beforeSubmitPrompt: 'prompt',
    preToolUse: 'call',
    postToolUse: 'result',
    postToolUseFailure: 'failure',
    stop: 'stop',
    sessionEnd: 'end',
  },
  // the names that the plugin of `gov agents install` sends
  opencode: { 'session.created': 'start', 'tool.execute.before': 'call', 'tool.execute.after': 'result' },
};

const bounds = { ...largeBounds, stringBytes: limits.hookInputBytes };

/** Reads the bytes of one event. Never throws. Cost: linear in the bytes, at most `limits.hookInputBytes`. */
export function readHookInput(client: AgentClient, bytes: Uint8Array): HookInput | HookFault {
  const { value, strict } = parsed(bytes);
  if (!isSource(value))
    return { fault: strict ?? `expected one JSON object, got ${kindOf(value)}`, gates: true };
  const eventName = textOf(value['hook_event_name']);
  const known = hookMoments[client];
  const found = eventName !== undefined && Object.hasOwn(known, eventName) ? known[eventName] : undefined;
  const moment = found === 'result' && hasFailed(value) ? 'failure' : found;
  if (eventName === undefined || moment === undefined) {
    const names = Object.keys(known).join(', ');
    return { fault: `hook_event_name: expected one of ${names}, got ${shown(eventName)}`, gates: true };
  }
  const fail = (fault: string): HookFault => ({ fault: `${eventName}: ${fault}`, gates: moment === 'call' });
  if (moment === 'call' && strict !== null) return fail(strict);
  const session = textOf(value['session_id']) ?? textOf(value['conversation_id']);
  if (session === undefined) return fail('expected a text in session_id, got none');
  const isOfTool = moment === 'call' || moment === 'result' || moment === 'failure';
  const tool = isOfTool ? toolOf(value, { client, session }) : null;
  if (typeof tool === 'string') return fail(tool);
  return {
    client,
    moment,
    eventName,
    session,
    subagent: textOf(value['agent_id']) ?? null,
    cwd: textOf(value['cwd']) ?? null,
    permissionMode: textOf(value['permission_mode']) ?? null,
    tool,
    content: contentOf(moment, value),
    source: value,
  };
}

/** Returns the value; `strict` says what the profile of the interface (I-JSON) rejects in it. */
function parsed(bytes: Uint8Array): { readonly value: unknown; readonly strict: string | null } {
  try {
    return { value: parseJson(bytes, bounds), strict: null };
  } catch (cause) {
    const strict = cause instanceof Error ? cause.message : String(cause);
    try {
      return { value: parseLoose(Buffer.from(bytes).toString()), strict };
    } catch {
      return { value: undefined, strict };
    }
  }
}

/** Returns the tool, or what is wrong with it. */
function toolOf(
  value: Source,
  { client, session }: { readonly client: AgentClient; readonly session: string },
): HookedTool | string {
  const name = textOf(value['tool_name']);
  if (name === undefined) return `expected a text in tool_name, got ${kindOf(value['tool_name'])}`;
  const given = value['tool_input'] ?? {};
  const input = typeof given === 'string' && client === 'cursor' ? parsed(Buffer.from(given)).value : given;
  // Codex gives the patch of apply_patch as a text
  const args = typeof input === 'string' ? { input } : input;
  if (!isObject(args as Json)) return `expected an object in tool_input, got ${kindOf(given)}`;
  const id = textOf(value['tool_use_id']);
  if (id === undefined && client !== 'gemini')
    return `expected a text in tool_use_id, got ${kindOf(value['tool_use_id'])}`;
  const mcp = mcpOf(name, value['mcp_context']);
  if (client === 'gemini' && name.startsWith('mcp_') && mcp.mcp === null)
    return `expected the server of ${name} in mcp_context, got ${kindOf(value['mcp_context'])}`;
  return {
    callId: id ?? unnamedCallId(session, name, args),
    name,
    ...mcp,
    arguments: args as JsonObject,
  };
}

/** Clients report a command that ended with another exit code than 0 as a result; Gemini CLI also every error. */
function hasFailed(event: Source): boolean {
  const { tool_response: response, tool_output: output } = event;
  if ([event, response, output].some(saysFailure)) return true;
  if (!isSource(response)) return false;
  return isSource(response['error']) || (exitCodeBelow(textOf(response['llmContent']) ?? '') ?? 0) !== 0;
}

/** Claude Code and Codex write `mcp__SERVER__TOOL`; the shortest server is taken. Gemini CLI names the server apart. */
function mcpOf(name: string, context: unknown): Pick<HookedTool, 'mcp' | 'isNamedApart'> {
  if (isSource(context)) {
    const [server, tool] = [textOf(context['server_name']), textOf(context['tool_name'])];
    if (server !== undefined) return { mcp: { server, name: tool ?? name }, isNamedApart: true };
  }
  return { mcp: readingsOf(name)[0] ?? null };
}

function contentOf(moment: HookMoment, value: Source): unknown {
  switch (moment) {
    case 'prompt':
      return value['prompt'];
    case 'result':
      return value['tool_response'] ?? value['tool_output'];
    case 'failure':
      return value['error'] ?? value['error_message'] ?? value['tool_response'] ?? value['tool_output'];
    case 'stop':
      return value['last_assistant_message'] ?? value['prompt_response'];
    default:
      return undefined;
  }
}

const shown = (text: string | undefined): string =>
  text === undefined ? 'none' : JSON.stringify(text.slice(0, 64));
const kindOf = (value: unknown): string =>
  value === ''
    ? 'an empty one'
    : value === undefined
      ? 'none'
      : value === null
        ? 'null'
        : Array.isArray(value)
          ? 'an array'
          : typeof value;

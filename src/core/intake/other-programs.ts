/**
 * Programs whose recordings gov does not read. Such a file is refused by name, also where a format would take some of its
 * lines and find little in them. `docs/reference/recordings.md` has the sample of each. Tested by
 * `test/core/intake/other-programs.test.ts`.
 */
import { isSource, type Source } from './run.ts';

interface OtherProgram {
  readonly name: string;
  /** Whether a line, a member of a list or a document has the marks of the program. The file is an attacker's. */
  readonly isIt: (value: Source) => boolean;
}

const has = (value: Source, ...names: readonly string[]): boolean =>
  names.every((name) => (value[name] ?? null) !== null);
const isType = (value: Source, pattern: RegExp): boolean =>
  typeof value['type'] === 'string' && pattern.test(value['type']);
const memberOf = (value: Source, name: string): Source => {
  const member = value[name];
  return isSource(member) ? member : {};
};
/** Whether a list begins with an object of this kind. */
const begins = (value: unknown, isIt: (first: Source) => boolean): boolean =>
  Array.isArray(value) && isSource(value[0]) && isIt(value[0]);

const otherPrograms: readonly OtherProgram[] = [
  {
    name: 'the output of codex exec --json; record the rollout of the session instead (~/.codex/sessions)',
    isIt: (value) =>
      (isType(value, /^thread\.started$/) && has(value, 'thread_id')) ||
      (isType(value, /^item\.(?:started|updated|completed)$/) && has(memberOf(value, 'item'), 'id', 'type')),
  },
  {
    name: 'a part of a session of OpenCode; record the session instead: opencode export SESSION',
    isIt: (value) =>
      (has(value, 'sessionID') && (has(value, 'messageID') || has(value, 'part') || has(value, 'time'))) ||
      has(value, 'id', 'projectID', 'directory', 'time'),
  },
  {
    name: 'the output of claude -p of a release whose lines have no uuid; record the file of the session instead (~/.claude/projects)',
    isIt: (value) =>
      has(value, 'session_id') &&
      !has(value, 'uuid') &&
      !has(value, 'apiKeySource') &&
      ((isType(value, /^system$/) && Array.isArray(value['tools'])) ||
        (isType(value, /^(?:assistant|user)$/) && has(memberOf(value, 'message'), 'id', 'content'))),
  },
  {
    name: 'the output of the agent of Cursor; record its calls with hooks instead (gov agents install cursor)',
    isIt: (value) =>
      (isType(value, /^system$/) &&
        has(value, 'session_id', 'apiKeySource', 'permissionMode') &&
        !has(value, 'uuid')) ||
      (isType(value, /^tool_call$/) && has(value, 'subtype', 'call_id', 'tool_call')) ||
      (isType(value, /^(?:user|assistant|thinking|result)$/) &&
        has(value, 'session_id') &&
        !has(value, 'uuid')),
  },
  {
    name: 'the output of gemini -o json or stream-json; record the session instead (~/.gemini/tmp/…/chats)',
    isIt: (value) =>
      has(value, 'session_id', 'response', 'stats') ||
      (has(value, 'timestamp') &&
        ((isType(value, /^init$/) && has(value, 'session_id', 'model')) ||
          (isType(value, /^message$/) && has(value, 'role', 'content')) ||
          (isType(value, /^tool_(?:use|result)$/) && has(value, 'tool_id')) ||
          (isType(value, /^result$/) && has(value, 'status', 'stats')))),
  },
  {
    name: 'a transcript of Cursor; its calls have no ids. Record them with hooks instead (gov agents install cursor)',
    isIt: (value) =>
      has(value, 'role', 'message') &&
      !has(value, 'type') &&
      !has(value, 'sessionId') &&
      Array.isArray(memberOf(value, 'message')['content']),
  },
  {
    name: 'messages that Cline shows (ui_messages.json); record api_conversation_history.json instead',
    isIt: (value) =>
      typeof value['ts'] === 'number' &&
      isType(value, /^(?:say|ask)$/) &&
      (has(value, 'say') || has(value, 'ask')),
  },
  {
    name: 'messages of LangChain or LangGraph',
    isIt: (value) =>
      (value['lc'] === 1 && has(value, 'kwargs')) ||
      (isType(value, /^(?:human|ai|system|tool)$/) && has(memberOf(value, 'data'), 'content')) ||
      (isType(value, /^(?:human|ai|tool)$/) && has(value, 'content', 'additional_kwargs')),
  },
  {
    name: 'messages of Pydantic AI',
    isIt: (value) =>
      /^(?:request|response)$/.test(String(value['kind'])) &&
      begins(value['parts'], (first) => has(first, 'part_kind')),
  },
  {
    name: 'messages of AutoGen',
    isIt: (value) => has(value, 'source') && 'models_usage' in value && isType(value, /(?:Message|Event)$/),
  },
  {
    name: 'a trace of the OpenAI Agents SDK',
    isIt: ({ object, ...value }) =>
      (object === 'trace' && has(value, 'workflow_name')) ||
      (object === 'trace.span' && has(value, 'span_data')),
  },
  {
    name: 'a session of Kimi Code',
    isIt: (value) =>
      (isType(value, /^metadata$/) && has(value, 'protocol_version')) ||
      isType(value, /^context\.append_(?:message|loop_event)$/),
  },
  {
    name: 'a session of Factory Droid',
    isIt: (value) =>
      (isType(value, /^session_start$/) && has(value, 'id', 'cwd')) ||
      (has(value, 'session_id') &&
        isType(value, /^(?:message|tool_call|tool_result)$/) &&
        !has(value, 'message')),
  },
  {
    name: 'a session of Google Antigravity',
    isIt: (value) => typeof value['step_index'] === 'number' && has(value, 'source', 'type', 'created_at'),
  },
  {
    name: 'a session of Pi or OpenClaw',
    isIt: (value) =>
      isType(value, /^session$/) && typeof value['version'] === 'number' && has(value, 'id', 'cwd'),
  },
  {
    name: 'a session of Hermes',
    isIt: (value) =>
      has(value, 'session_id', 'session_start', 'platform') && Array.isArray(value['messages']),
  },
];

/** Returns what a document looks like, if gov does not read it; undefined for any other document. */
export function otherProgram(document: unknown): string | undefined {
  const values = (Array.isArray(document) ? document : [document]).filter(isSource);
  const [first] = values;
  const other = first === undefined ? undefined : otherPrograms.find(({ isIt }) => isIt(first));
  return other?.name ?? likeClaude(values);
}

/** Lines as those of Claude Code, without what its messages have. */
function likeClaude(lines: readonly Source[]): string | undefined {
  const messages = lines
    .filter((line) => typeof line['sessionId'] === 'string' && typeof line['type'] === 'string')
    .map((line) => line['message'])
    .filter(isSource);
  const empty = messages.filter((message) => (message['content'] ?? null) === null);
  if (empty.some((message) => Array.isArray(message['parts'])))
    return 'a session of Qwen Code: its messages have parts, not content';
  return empty.length === 0 || empty.length < messages.length
    ? undefined
    : 'a session of another program than Claude Code: its messages have no content';
}

/** Returns what a text that is no JSON looks like. */
export const otherText = (text: string): string | undefined =>
  /^\s*# aider chat started at /.test(text) ? 'a chat history of Aider, in Markdown' : undefined;

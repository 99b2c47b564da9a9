/**
 * Chat messages in OpenAI's form. `openai-chat.ts` has the table. Tested by `test/core/intake/formats/openai-chat.test.ts`.
 */
import type { Ending } from '../../../contract/endings.ts';
import { extraOf, readArguments, words, type Call, type Conversation } from '../conversation.ts';
import { endingOf } from '../ending.ts';
import { idOf, isSource, textOf, type Source } from '../run.ts';
import { readTime, type SourceTime } from '../time.ts';
import { invocationParts, readParts, type PartResult, type Parts } from './chat-parts.ts';

export const isMessage = (value: unknown): value is Source =>
  isSource(value) &&
  typeof value['role'] === 'string' &&
  !('kind' in value) &&
  ['content', 'tool_calls', 'function_call', 'tool_call_id'].some((name) => name in value);

/** Returns the time of a message, if it has one. */
export const messageTime = (message: Source): SourceTime | null =>
  readTime(message['timestamp'] ?? message['created_at'] ?? message['created'] ?? message['createdAt']);

/**
 * Returns the messages that identify a conversation: all up to the first of a user. They stay the same while it grows.
 */
export function opening(messages: readonly Source[]): readonly Source[] {
  const user = messages.findIndex((message) => message['role'] === 'user');
  return messages.slice(0, user === -1 ? 1 : user + 1);
}

const knownRoles = words('system developer user assistant tool function');
const nameless = words(
  'role content refusal tool_calls function_call tool_call_id timestamp created created_at createdAt model toolInvocations',
);
const members = new Set([...nameless, 'name', 'tool_name']);
const namedRoles = words('user tool function');

/** Writes one message. `usage` and `extra` come from around it. */
export function writeMessage(
  message: Source,
  conversation: Conversation,
  { at, usage, extra: around }: { at: SourceTime | null; usage?: unknown; extra?: Source },
): void {
  const role = String(message['role']);
  const { content, calls, results, unknown } = readMessage(message, role);
  const isEmpty = content === undefined && calls.length + results.length + unknown.length > 0;
  // only a user and a tool are known by their name below
  const own = extraOf(message, namedRoles.has(role) ? members : nameless);
  const extra = around === undefined && own === undefined ? undefined : { ...around, ...own };
  switch (role) {
    case 'system':
    case 'developer':
      conversation.instructed({ content, extra, at });
      break;
    case 'user':
      if (isEmpty) break;
      conversation.prompted({
        content,
        extra,
        at,
        actor: { name: textOf(message['name']) ?? 'user', role: 'user' },
      });
      break;
    case 'assistant':
      conversation.answered({
        content,
        extra,
        at,
        usage,
        calls: [...readCalls(message), ...calls],
        delivers: !isEmpty,
        model: textOf(message['model']),
        refusal: refusalOf(message),
      });
      break;
    case 'tool':
    case 'function':
      if (isEmpty) break;
      conversation.returned({
        content,
        extra,
        at,
        sourceId: idOf(message['tool_call_id']),
        // Ollama names the tool of a result so, and gives no id
        name: textOf(message['name']) ?? textOf(message['tool_name']),
        outcome: endingOf({
          stated: statedEnding(message, content),
          results: [content],
          record: { ...message, content: undefined },
        }),
      });
      break;
    default:
      conversation.unknown(`a message of the role ${role}`, message, { at, actor: { name: role } });
      return;
  }
  for (const result of results) writeResult(result, conversation, at);
  for (const call of strayCalls(message, role))
    conversation.unknown(`a call in a message of the role ${role}`, call, { at });
  for (const part of unknown) conversation.unknown(`a part in a message of the role ${role}`, part, { at });
}

/** The parts of a message's content, and the invocations beside it. */
function readMessage(message: Source, role: string): Parts {
  const read = readParts(message['content'], role);
  const beside = readParts(invocationParts(message), role);
  return {
    // the AI SDK has an empty text where the model only called tools
    content: read.content === '' && beside.calls.length > 0 ? undefined : read.content,
    calls: [...read.calls, ...beside.calls],
    results: [...read.results, ...beside.results],
    unknown: [...read.unknown, ...beside.unknown],
  };
}

function statedEnding(message: Source, content: unknown): Ending | undefined {
  const flags = new Set([message['is_error'], message['isError']]);
  if (message['status'] === 'error' || flags.has(true)) return 'error';
  // langchain writes the one, Anthropic and MCP the other
  if (message['status'] === 'success' || flags.has(false)) return 'ok';
  return beginsWithError(content) ? 'error' : undefined;
}

function beginsWithError(content: unknown): boolean {
  const part: unknown = Array.isArray(content) ? content[0] : content;
  return textOf(isSource(part) ? part['text'] : part)?.startsWith('Error') === true;
}

/** A result that stands among the parts of a message. */
function writeResult(result: PartResult, conversation: Conversation, at: SourceTime | null): void {
  const { extra, ...rest } = result;
  conversation.returned({ ...rest, at, ...(extra === undefined ? {} : { extra }) });
}

/** Returns calls of messages that cannot have calls, and values that are no calls. Keeps a message of an unknown role whole. */
function strayCalls(message: Source, role: string): unknown[] {
  if (!knownRoles.has(role)) return [];
  const { tool_calls: calls, function_call: old } = message;
  const all: unknown[] = [...(Array.isArray(calls) ? calls : [calls]), old];
  const isRead = (call: unknown) =>
    role === 'assistant' && isSource(call) && (call !== calls || Array.isArray(calls));
  return all.filter((call) => (call ?? null) !== null && !isRead(call));
}

/** Returns the text with which a model declined, as a member of the message or as a part of its content. */
function refusalOf(message: Source): string | undefined {
  const parts = Array.isArray(message['content']) ? message['content'].filter(isSource) : [];
  const part = parts.find((each) => each['type'] === 'refusal');
  return textOf(message['refusal']) ?? textOf(part?.['refusal']);
}

/** Returns the calls of an assistant message, in the current form (`tool_calls`) or the old one (`function_call`). */
export function readCalls(message: Source): Call[] {
  const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'].filter(isSource) : [];
  const old = message['function_call'];
  return [...calls, ...(isSource(old) ? [{ function: old }] : [])].map((call: Source) => {
    const called = [call['function'], call['custom']].find(isSource) ?? call;
    return {
      sourceId: idOf(call['id']),
      name: textOf(called['name']) ?? 'unknown',
      arguments: readArguments(called['arguments'] ?? called['input'] ?? called['args']),
    };
  });
}

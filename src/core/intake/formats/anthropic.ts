/**
 * Messages, requests and responses of Anthropic's Messages API. A response alone is known by its own id; messages have
 * none. Tested by `test/core/intake/formats/anthropic.test.ts`.
 */
import { Conversation, extraOf, words } from '../conversation.ts';
import type { Format } from '../format.ts';
import { isSource, RunBuilder, textOf, type ImportContext, type ImportedRun, type Source } from '../run.ts';
import { ownBlocks, readBlocks, writeResults } from '../pieces/anthropic-blocks.ts';
import { isMessage, messageTime, opening } from '../pieces/chat-messages.ts';

const name = 'anthropic';

const isMessages = (value: unknown): value is readonly Source[] =>
  Array.isArray(value) && value.length > 0 && value.every(isMessage);

/** Returns the first block type in messages that only this API has. */
function ownBlock(messages: readonly Source[]): string | undefined {
  for (const { content } of messages) {
    const found = (Array.isArray(content) ? content.filter(isSource) : []).find((block) =>
      ownBlocks.has(String(block['type'])),
    );
    if (found !== undefined) return String(found['type']);
  }
  return undefined;
}

const isResponse = (value: unknown): value is Source =>
  isSource(value) && value['type'] === 'message' && Array.isArray(value['content']) && isMessage(value);

/** Returns the request of a document: itself, or what it holds beside a response. */
const requestOf = (document: Source): Source | undefined =>
  [document, document['request'], document['body']]
    .filter(isSource)
    .find((value) => isMessages(value['messages']));

function detect(document: unknown): string | undefined {
  if (isMessages(document)) {
    const block = document.every(isResponse) ? 'message' : ownBlock(document);
    return block === undefined ? undefined : `messages with blocks of type ${block}`;
  }
  if (!isSource(document)) return undefined;
  if (isResponse(document) || isResponse(document['response'])) return 'a response of type message';
  const request = requestOf(document);
  if (request === undefined) return undefined;
  const block = ownBlock(request['messages'] as readonly Source[]); // requestOf has checked it
  if (block !== undefined) return `a request with blocks of type ${block}`;
  if ('anthropic_version' in request) return 'a request with anthropic_version';
  return textOf(request['model'])?.startsWith('claude') === true && 'max_tokens' in request
    ? 'a request with max_tokens for a claude model'
    : undefined;
}

const accepts = (document: unknown): boolean =>
  detect(document) !== undefined ||
  isMessages(document) ||
  (isSource(document) && requestOf(document) !== undefined);

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  if (isMessages(document)) {
    // lines of responses are messages too, each with an id of its own
    if (document.every(isResponse)) for (const response of document) yield* runs(response, context);
    else yield write({ messages: document, request: {}, facts: {} }, context);
    return;
  }
  const source = document as Source; // accepts has checked it
  const request = isResponse(source) ? undefined : requestOf(source);
  const response = [source, source['response']].find(isResponse);
  const read: ReadonlySet<unknown> = new Set([request, response]);
  // a request that failed has an error instead of a response
  const facts = Object.fromEntries(
    Object.entries(source).filter(
      ([member, value]) => !['request', 'response', 'body'].includes(member) || !read.has(value),
    ),
  );
  const messages = (request?.['messages'] ?? []) as readonly Source[];
  yield write(
    {
      messages: response === undefined ? messages : [...messages, response],
      request: request ?? {},
      facts: request === source || response === source ? {} : facts,
      id: textOf(facts['conversation_id']) ?? textOf(facts['session_id']) ?? textOf(response?.['id']),
    },
    context,
  );
}

interface AnthropicRecording {
  readonly messages: readonly Source[];
  readonly request: Source;
  readonly facts: Source;
  readonly id?: string | undefined;
}

function write({ messages, request, facts, id }: AnthropicRecording, context: ImportContext): ImportedRun {
  const identity = id === undefined ? { opening: opening(messages) } : { id };
  const run = new RunBuilder(name, identity, context);
  const agent = { name: 'assistant', role: 'agent' };
  const conversation = new Conversation(run, { agent, model: textOf(request['model']) });
  const { messages: _messages, system, ...settings } = request;
  const source = { ...settings, ...facts };
  const times = messages.map((message) => messageTime(message));
  run.add({
    eventType: 'run.started',
    actor: agent,
    action: 'start',
    at: times.find((time) => time !== null) ?? null,
    metadata: { importer: name, source: Object.keys(source).length === 0 ? undefined : source },
  });
  if (system !== undefined) conversation.instructed({ content: system, at: null });
  for (const [index, message] of messages.entries())
    writeMessage(message, conversation, times[index] ?? null);
  return run.finish(messages.length);
}

const members = words('role content type model usage timestamp created created_at');

function writeMessage(message: Source, conversation: Conversation, at: ReturnType<typeof messageTime>): void {
  const role = String(message['role']);
  const { content, calls, results, unknown } = readBlocks(message['content'], role);
  const extra = extraOf(message, members);
  if (role === 'system') conversation.instructed({ content, extra, at });
  else if (role === 'assistant') {
    conversation.answered({
      content,
      calls,
      extra,
      at,
      model: textOf(message['model']),
      usage: message['usage'],
      refusal: message['stop_reason'] === 'refusal' ? (textOf(content) ?? 'refusal') : undefined,
    });
  } else if (role === 'user') {
    if (content !== undefined || (results.length === 0 && unknown.length === 0))
      conversation.prompted({ content, extra, at });
  } else conversation.unknown(`a message of the role ${role}`, message, { at, actor: { name: role } });
  writeResults(results, conversation, { at });
  for (const part of unknown) conversation.unknown(`a block in a message of the role ${role}`, part, { at });
}

export const anthropic: Format = {
  name,
  about: 'Messages, requests and responses of Anthropic’s Messages API',
  expects: 'messages with content blocks, {messages, system}, or {type: "message"}',
  maps: [
    ['system', 'snapshot.captured'],
    ['user: text, image, document', 'prompt.submitted'],
    ['user: tool_result', 'tool.result'],
    ['assistant', 'model.invoked; output.delivered if it calls no tool'],
    ['assistant: tool_use, server_tool_use, mcp_tool_use', 'tool.call'],
    ['assistant: …_tool_result of a tool that the provider runs', 'tool.result'],
    ['stop_reason refusal', 'output.delivered with action refuse'],
    ['another role or block', 'x.unknown'],
  ],
  example: [
    { role: 'user', content: 'Is it cold in Oslo?' },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Oslo' } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '-3' }] },
  ],
  detect,
  accepts,
  runs,
};

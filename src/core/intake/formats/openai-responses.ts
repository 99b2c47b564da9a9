/**
 * Requests and responses of OpenAI's Responses API, and lists of their items. A response with a conversation belongs to
 * that run, else it is known by its own id. Tested by `test/core/intake/formats/openai-responses.test.ts`.
 */
import { Conversation } from '../conversation.ts';
import type { Format } from '../format.ts';
import {
  isSource,
  RunBuilder,
  textOf,
  type Identity,
  type ImportContext,
  type ImportedRun,
  type Source,
} from '../run.ts';
import { readTime } from '../time.ts';
import { isItem, ItemWriter } from '../pieces/openai-items.ts';

const name = 'openai-responses';

const isResponse = (value: unknown): value is Source =>
  isSource(value) && value['object'] === 'response' && Array.isArray(value['output']);

/** Input is a text or a list of items; items of messages may leave out their type. */
const isInput = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((item) => isItem(item) || (isSource(item) && typeof item['role'] === 'string')) &&
  value.some(isItem);

const isItems = (value: unknown): value is readonly Source[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every(isItem) &&
  // a list of messages alone is Anthropic's or a chat's
  value.some((item) => item['type'] !== 'message' || hasOwnParts(item));

const hasOwnParts = ({ content }: Source): boolean =>
  Array.isArray(content) &&
  content.some((part) => isSource(part) && ['input_text', 'output_text'].includes(String(part['type'])));

const isRequest = (value: unknown): value is Source =>
  isSource(value) &&
  !('output' in value) &&
  (isInput(value['input']) || (typeof value['input'] === 'string' && textOf(value['model']) !== undefined));

function detect(document: unknown): string | undefined {
  if (isItems(document)) {
    const item = document.find((each) => each['type'] !== 'message');
    return `items of type ${String(item?.['type'] ?? 'message')}`;
  }
  if (Array.isArray(document) && document.length > 0 && document.every(isResponse)) return 'responses';
  if (!isSource(document)) return undefined;
  if (isResponse(document) || isResponse(document['response'])) return 'object response with output';
  return isRequest(document) ? 'a request with input' : undefined;
}

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  if (isItems(document)) {
    yield write({ identity: { opening: document[0] }, input: document, facts: {} }, context);
    return;
  }
  for (const entry of Array.isArray(document) ? document : [document]) yield write(read(entry), context);
}

interface ResponsesRecording {
  readonly identity: Identity;
  readonly input: readonly Source[];
  readonly instructions?: unknown;
  readonly response?: Source;
  readonly facts: Source;
  /** Members of an entry other than its request and response, such as those of a logging proxy. */
  readonly beside?: Source;
}

function read(entry: Source): ResponsesRecording {
  const response = [entry, entry['response']].find(isResponse);
  const asked = isRequest(entry['request']) ? entry['request'] : undefined;
  const request = asked ?? (response === entry ? {} : entry);
  const given = request['input'];
  const items: readonly unknown[] = Array.isArray(given)
    ? given
    : given === undefined
      ? []
      : [{ type: 'message', role: 'user', content: given }];
  const input = items.filter(isSource);
  const { input: _input, instructions, response: _response, ...facts } = request;
  return {
    identity: identityOf(request, response) ?? { opening: input[0] },
    input,
    instructions: instructions ?? response?.['instructions'],
    ...(response === undefined ? {} : { response }),
    facts,
    ...(asked !== undefined ? { beside: besideOf(entry, response) } : {}),
  };
}

function besideOf(entry: Source, response: Source | undefined): Source {
  const { request: _request, response: answer, ...rest } = entry;
  return response === undefined && answer !== undefined ? { ...rest, response: answer } : rest;
}

function identityOf(request: Source, response: Source | undefined): Identity | undefined {
  const conversation = response?.['conversation'] ?? request['conversation'];
  const id = textOf(conversation) ?? (isSource(conversation) ? textOf(conversation['id']) : undefined);
  const own = id ?? textOf(response?.['id']);
  return own === undefined ? undefined : { id: own };
}

function write(recording: ResponsesRecording, context: ImportContext): ImportedRun {
  const { identity, input, instructions, response, facts, beside = {} } = recording;
  const run = new RunBuilder(name, identity, context);
  const agent = { name: 'assistant', role: 'agent' };
  const model = textOf(response?.['model']) ?? textOf(facts['model']);
  const conversation = new Conversation(run, { agent, model });
  const at = readTime(response?.['created_at']);
  const output = (response?.['output'] ?? []) as readonly unknown[];
  const { output: _output, instructions: _instructions, object: _object, ...answer } = response ?? {};
  const about = { ...facts, ...answer };
  // several responses of one conversation share its run
  const own = textOf(response?.['id']);
  const key = own === undefined ? undefined : own;
  run.add({
    eventType: 'run.started',
    actor: agent,
    action: 'start',
    at,
    key: key === undefined ? undefined : `${key}.start`,
    metadata: { importer: name, source: Object.keys(about).length === 0 ? undefined : about },
  });
  if ((instructions ?? null) !== null)
    conversation.instructed({ at, content: instructions, key: key && `${key}.instructions` });
  const writer = new ItemWriter(conversation);
  const items = [...input, ...output];
  for (const [index, item] of items.entries()) {
    const place = key === undefined ? undefined : `${key}.${index}`;
    if (isSource(item)) writer.write(item, { at, key: place });
    else conversation.unknown('an item that is no object', item, { at, key: place });
  }
  if (Object.keys(beside).length > 0)
    conversation.unknown('members beside a request', beside, {
      at,
      key: key === undefined ? 'beside' : `${key}.beside`,
    });
  return run.finish(items.length);
}

export const openaiResponses: Format = {
  name,
  about: 'Requests and responses of OpenAI’s Responses API, and their items',
  expects: '{object: "response", output}, {input}, or a list of items',
  maps: [
    ['instructions, message of system or developer', 'snapshot.captured'],
    ['message of user', 'prompt.submitted'],
    ['first item of an answer, reasoning', 'model.invoked'],
    ['message of assistant', 'output.delivered; with action refuse for a refusal'],
    ['function_call, custom_tool_call, …_call', 'tool.call'],
    ['…_call_output', 'tool.result'],
    ['mcp_call, web_search_call and others that the provider runs', 'tool.call, tool.result'],
    ['another item or part, members beside request and response', 'x.unknown'],
  ],
  example: {
    id: 'resp_1',
    object: 'response',
    model: 'gpt-5',
    output: [
      { type: 'function_call', call_id: 'call_1', name: 'pay', arguments: '{"amount":5}' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'done' }] },
    ],
  },
  detect,
  isLine: (document) => isItem(document) && document['type'] !== 'message',
  runs,
};

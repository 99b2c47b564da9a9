/**
 * Sessions of Gemini CLI (`~/.gemini/tmp/…/chats/session-*.json`, and `.jsonl` from 0.40). A run is a session; the ids of its
 * messages are the ids of its events. A message of the model has its calls with their results, and `$set` lines change the
 * header alone. The file never says that its session has ended. Tested by `test/core/intake/formats/gemini-cli.test.ts`.
 */
import type { Ending } from '../../../contract/endings.ts';
import { Conversation, extraOf, words } from '../conversation.ts';
import { endingOf } from '../ending.ts';
import type { Format } from '../format.ts';
import { isSource, RunBuilder, textOf, type ImportContext, type ImportedRun, type Source } from '../run.ts';
import { readTime } from '../time.ts';

const name = 'gemini-cli';

const isHeader = (value: unknown): value is Source =>
  isSource(value) && textOf(value['sessionId']) !== undefined && textOf(value['projectHash']) !== undefined;

const isChange = (value: Source): boolean => isSource(value['$set']) && Object.keys(value).length === 1;

const isMessage = (value: unknown): value is Source =>
  isSource(value) &&
  textOf(value['id']) !== undefined &&
  textOf(value['timestamp']) !== undefined &&
  typeof value['type'] === 'string' &&
  /^(?:user|gemini|info|warning|error)$/.test(value['type']) &&
  'content' in value &&
  !('sessionId' in value) &&
  !('message' in value);

const isLine = (value: unknown): boolean =>
  (isHeader(value) && !('messages' in value)) || (isSource(value) && isChange(value)) || isMessage(value);

/** The header and the messages of a document, which may be the lines of a file. */
function read(
  document: unknown,
): { readonly header: Source; readonly messages: readonly unknown[] } | undefined {
  if (Array.isArray(document)) {
    const [header, ...rest]: unknown[] = document;
    const isSession = isHeader(header) && !('messages' in header) && rest.every(isLine);
    return isSession
      ? { header, messages: rest.filter((each) => !isSource(each) || !isChange(each)) }
      : undefined;
  }
  if (!isHeader(document)) return undefined;
  const { messages = [] } = document;
  return Array.isArray(messages) ? { header: document, messages } : undefined;
}

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  const session = read(document);
  if (session === undefined) return;
  const { header, messages } = session;
  const run = new RunBuilder(name, { id: String(header['sessionId']) }, context);
  const agent = { name, role: 'agent' };
  run.add({
    eventType: 'run.started',
    actor: agent,
    action: 'start',
    metadata: { importer: name, startedAs: header['kind'], project: header['projectHash'] },
    at: readTime(header['startTime']),
    key: 'start',
  });
  const writer = new MessageWriter(new Conversation(run, { agent }));
  for (const message of messages) writer.write(message);
  yield run.finish(messages.length);
}

const known = words('id timestamp type content displayContent toolCalls model tokens thoughts');
const knownOfCall = words(
  'id name args result status timestamp resultDisplay description displayName renderOutputAsMarkdown',
);
/** What the program says of a call. It writes the result of a cancelled one itself. */
function statedOf(status: unknown, outputs: readonly unknown[]): Ending | undefined {
  if (status === 'success') return 'ok';
  if (status === 'error') return 'error';
  if (status !== 'cancelled') return undefined;
  return /User (?:denied|did not allow)/.test(JSON.stringify(outputs)) ? 'refused' : 'interrupted';
}

class MessageWriter {
  readonly #conversation: Conversation;

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
  }

  write(value: unknown): void {
    if (!isMessage(value)) {
      this.#conversation.unknown('a message of an unknown type', value, { at: null });
      return;
    }
    const { id, type, content } = value;
    const at = readTime(value['timestamp']);
    const key = String(id);
    const extra = extraOf(value, known);
    if (type === 'user') this.#conversation.prompted({ at, key, content, extra });
    else if (type === 'gemini') this.#answered(value, { at, key, extra });
    else this.#conversation.step(String(type), { content, extra }, { at, key });
  }

  #answered(
    value: Source,
    { at, key, extra }: { at: ReturnType<typeof readTime>; key: string; extra: Source | undefined },
  ): void {
    const { content, thoughts, tokens, toolCalls } = value;
    const given: readonly unknown[] = Array.isArray(toolCalls) ? toolCalls : [];
    const calls = given.filter(isSource).filter((call) => textOf(call['name']) !== undefined);
    const said = content === '' ? undefined : content;
    this.#conversation.answered({
      at,
      key,
      content: said,
      model: textOf(value['model']),
      usage: tokens,
      extra: { ...extra, ...(Array.isArray(thoughts) && thoughts.length > 0 ? { thoughts } : {}) },
      calls: calls.map((call) => ({
        sourceId: textOf(call['id']),
        name: String(call['name']),
        arguments: call['args'],
      })),
    });
    for (const [no, call] of calls.entries()) this.#returned(call, `${key}.result${no === 0 ? '' : no + 1}`);
    for (const [no, call] of given.entries())
      if (!isSource(call) || textOf(call['name']) === undefined)
        this.#conversation.unknown('a call without a name', call, { at, key: `${key}.part${no}` });
  }

  #returned(call: Source, key: string): void {
    const { result, status } = call;
    const responses = (Array.isArray(result) ? result : [result]).filter(isSource);
    const outputs = responses.map((each) =>
      isSource(each['functionResponse']) ? each['functionResponse']['response'] : each,
    );
    const stated = statedOf(status, outputs);
    // a call that waits or runs has no result yet
    if (stated === undefined && outputs.length === 0) return;
    this.#conversation.returned({
      at: readTime(call['timestamp']),
      key,
      sourceId: textOf(call['id']),
      name: textOf(call['name']),
      content: outputs.length === 1 ? outputs[0] : outputs,
      outcome: endingOf({ stated, results: outputs }),
      extra: extraOf(call, knownOfCall),
    });
  }
}

export const geminiCli: Format = {
  name,
  about: 'Sessions of Gemini CLI',
  expects: 'an object with sessionId, projectHash and messages, or lines of them',
  maps: [
    ['a message of the user', 'prompt.submitted'],
    ['a message of the model', 'model.invoked, and output.delivered where it calls no tool'],
    ['a call of a message', 'tool.call, and tool.result with its status'],
    ['info, warning, error', 'agent.step'],
  ],
  example: {
    sessionId: 's-1',
    projectHash: 'ab12',
    startTime: '2026-01-05T09:00:00Z',
    messages: [{ id: 'm1', timestamp: '2026-01-05T09:00:01Z', type: 'user', content: 'Pay the bill' }],
  },
  detect: (document) => (read(document) === undefined ? undefined : 'sessionId and projectHash'),
  isLine,
  runs,
};

/**
 * Sessions of Gemini CLI (`~/.gemini/tmp/…/chats/session-*.json`, and `.jsonl` from 0.40). A run is a session with its
 * subagents; the ids of its messages are the ids of its events. The file of a subagent is in the folder of its session
 * (`chats/SESSION/ID.jsonl`): nothing in the file names the session. The lines are a log of changes: a message is written
 * again with its id whenever its calls change, `$set` changes the header or gives the model other messages, and
 * `$rewindTo` takes back the last ones. The run has each message once, as it was written last, and also those that were
 * taken back: their calls ran. A history that comes again under other ids is left out (`pieces/gemini-history.ts`). A
 * message of the model has its calls with their results, which the next message of the user repeats. The file never says
 * that its session has ended. Tested by `test/core/intake/formats/gemini-cli.test.ts`.
 */
import type { Ending } from '../../../contract/endings.ts';
import { Conversation, extraOf, words, type Utterance } from '../conversation.ts';
import { endingOf, exitCodeBelow } from '../ending.ts';
import type { Format } from '../format.ts';
import {
  idOf,
  isSource,
  RunBuilder,
  textOf,
  type ImportContext,
  type ImportedRun,
  type Source,
} from '../run.ts';
import { History, isContext, isFiller } from '../pieces/gemini-history.ts';
import { readTime } from '../time.ts';

const name = 'gemini-cli';

const isHeader = (value: unknown): value is Source =>
  isSource(value) && textOf(value['sessionId']) !== undefined && textOf(value['projectHash']) !== undefined;

const isChange = (value: Source): boolean =>
  (isSource(value['$set']) || textOf(value['$rewindTo']) !== undefined) && Object.keys(value).length === 1;

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

interface Session {
  readonly header: Source;
  /** Messages and rewinds, in the order of their first line. */
  readonly messages: readonly unknown[];
  /** How often a message was written again under its id. */
  readonly rewritten: number;
  /** Messages that came again under another id. */
  readonly repeated: number;
}

/** Reads a document, which may be the lines of a file. */
function read(document: unknown): Session | undefined {
  if (Array.isArray(document)) {
    const [header, ...rest]: unknown[] = document;
    const isSession = isHeader(header) && !('messages' in header) && rest.every(isLine);
    return isSession ? { header, ...replayed(rest) } : undefined;
  }
  if (!isHeader(document)) return undefined;
  const { messages = [] } = document;
  return Array.isArray(messages) ? { header: document, messages, rewritten: 0, repeated: 0 } : undefined;
}

function replayed(lines: readonly unknown[]): Omit<Session, 'header'> {
  const messages: unknown[] = [];
  const places = new Map<string, number>();
  const repeated = new Set<string>();
  let rewritten = 0;
  const take = (message: unknown): void => {
    const id = isSource(message) ? textOf(message['id']) : undefined;
    if (id !== undefined && repeated.has(id)) return;
    const place = id === undefined ? undefined : places.get(id);
    if (place !== undefined) {
      messages[place] = message;
      rewritten += 1;
      return;
    }
    if (id !== undefined) places.set(id, messages.length);
    messages.push(message);
  };
  let history: History | undefined;
  for (const line of lines) {
    const set = isSource(line) && isChange(line) ? line['$set'] : undefined;
    if (isSource(set)) {
      if (!Array.isArray(set['messages'])) continue;
      for (const message of set['messages']) take(message);
      history = undefined;
    } else if (isMessage(line) && history?.repeats(line) === true) repeated.add(String(line['id']));
    else {
      if (isMessage(line) && isContext(line['content'])) history = new History(messages);
      take(line);
    }
  }
  return { messages, rewritten, repeated: repeated.size };
}

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  const session = read(document);
  if (session === undefined) return;
  const { header, messages, rewritten, repeated } = session;
  const id = String(header['sessionId']);
  const isSubagent = header['kind'] === 'subagent';
  const run = new RunBuilder(name, { id: isSubagent ? sessionOf(id, context) : id }, context);
  const agent = { name: isSubagent ? `${name}/${id}` : name, role: 'agent' };
  const base = isSubagent ? `${id}.` : '';
  run.add({
    // a subagent starts no run
    eventType: isSubagent ? 'agent.invoked' : 'run.started',
    actor: agent,
    action: 'start',
    metadata: { importer: name, startedAs: header['kind'], project: header['projectHash'] },
    at: readTime(header['startTime']),
    key: `${base}start`,
  });
  for (let each = 0; each < rewritten; each += 1) run.changes.add('version_replaced');
  for (let each = 0; each < repeated; each += 1) run.changes.add('block_repeated');
  // another agent prompts a subagent
  const user = isSubagent ? agent : undefined;
  const writer = new MessageWriter(new Conversation(run, { agent, user }), base);
  for (const [no, message] of messages.entries()) writer.write(message, no);
  yield run.finish(messages.length);
}

/** The session of a subagent: the folder of its file, if that is an id. Else the subagent is alone in its run. */
const sessionOf = (id: string, { folder = '', sourceName }: ImportContext): string =>
  sourceName === `${id}.jsonl` && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(folder) ? folder : id;

const known = words('id timestamp type content displayContent toolCalls model tokens thoughts');
const knownOfCall = words(
  'id name args result status timestamp resultDisplay description displayName renderOutputAsMarkdown',
);

const responseOf = (part: unknown): Source | undefined =>
  isSource(part) && isSource(part['functionResponse']) ? part['functionResponse'] : undefined;

const hasFailed = (output: unknown): boolean =>
  isSource(output) && (exitCodeBelow(textOf(output['output']) ?? '') ?? 0) !== 0;

/** What the program says of a call. It writes the result of a cancelled one itself. */
function statedOf({ name, status }: Source, outputs: readonly unknown[]): Ending | undefined {
  if (status === 'error' || (name === 'run_shell_command' && outputs.some(hasFailed))) return 'error';
  if (status === 'success') return 'ok';
  if (status !== 'cancelled') return undefined;
  return /User (?:denied|did not allow)/.test(JSON.stringify(outputs)) ? 'refused' : 'interrupted';
}

class MessageWriter {
  readonly #conversation: Conversation;
  /** What calls returned, as JSON, by their ids. */
  readonly #returnedBy = new Map<string, string>();

  /** Put before keys, so that the agents of one run stay apart. */
  readonly #base: string;

  constructor(conversation: Conversation, base: string) {
    this.#conversation = conversation;
    this.#base = base;
  }

  /** `no`: the place among the messages. */
  write(value: unknown, no: number): void {
    if (isSource(value) && isChange(value)) {
      const facts = { to: value['$rewindTo'] };
      this.#conversation.step('rewind', facts, { at: null, key: `${this.#base}rewind${no}` });
      return;
    }
    if (!isMessage(value)) {
      this.#conversation.unknown('a message of an unknown type', value, { at: null });
      return;
    }
    const { id, type, content } = value;
    const at = readTime(value['timestamp']);
    const key = `${this.#base}${String(id)}`;
    const extra = extraOf(value, known);
    if (type === 'user') this.#asked({ at, key, content, extra });
    else if (type === 'gemini' && isFiller(content))
      this.#conversation.step('interrupted', { content, extra }, { at, key });
    else if (type === 'gemini') this.#answered(value, { at, key, extra });
    else this.#conversation.step(String(type), { content, extra }, { at, key });
  }

  /** What the user said, or the context of the session, or what the calls of the last message returned. */
  #asked({ content, ...utterance }: Utterance): void {
    const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
    const said = parts.filter((part) => responseOf(part) === undefined);
    for (const [no, part] of parts.entries()) {
      const response = responseOf(part);
      if (response !== undefined)
        this.#responded(response, { ...utterance, key: `${utterance.key}.part${no}` });
    }
    if (said.length === 0) return;
    const words = { ...utterance, content: said.length === parts.length ? content : said };
    if (isContext(said)) this.#conversation.instructed(words, 'session context');
    else this.#conversation.prompted(words);
  }

  /** The model gets what a call returned; a call that came back from elsewhere has its result here alone. */
  #responded(response: Source, { at, key, extra }: Omit<Utterance, 'content'>): void {
    const id = idOf(response['id']);
    const { response: content } = response;
    if (id !== undefined && this.#returnedBy.get(id) === JSON.stringify(content)) {
      this.#conversation.run.changes.add('block_repeated');
      return;
    }
    const outcome = endingOf({ stated: statedOf(response, [content]), results: [content] });
    this.#conversation.returned({
      at,
      key,
      sourceId: id,
      name: textOf(response['name']),
      content,
      outcome,
      extra,
    });
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
        sourceId: idOf(call['id']),
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
    const { result } = call;
    const responses = (Array.isArray(result) ? result : [result]).filter(isSource);
    const outputs = responses.map((each) =>
      isSource(each['functionResponse']) ? each['functionResponse']['response'] : each,
    );
    const stated = statedOf(call, outputs);
    // a call that waits or runs has no result yet
    if (stated === undefined && outputs.length === 0) return;
    const id = idOf(call['id']);
    if (id !== undefined && outputs.length === 1) this.#returnedBy.set(id, JSON.stringify(outputs[0]));
    this.#conversation.returned({
      at: readTime(call['timestamp']),
      key,
      sourceId: id,
      name: textOf(call['name']),
      content: outputs.length === 1 ? outputs[0] : outputs,
      outcome: endingOf({ stated, results: outputs, record: extraOf(call, knownOfCall) ?? {} }),
      extra: extraOf(call, knownOfCall),
    });
  }
}

export const geminiCli: Format = {
  name,
  about: 'Sessions of Gemini CLI',
  expects: 'an object with sessionId, projectHash and messages, or lines of them',
  maps: [
    ['the header', 'run.started; agent.invoked for a subagent, in the run of its session'],
    ['a message of the user', 'prompt.submitted; the context of the session is snapshot.captured'],
    ['a message of the model', 'model.invoked, and output.delivered where it calls no tool'],
    ['a call of a message', 'tool.call, and tool.result with its status'],
    ['info, warning, error, $rewindTo', 'agent.step'],
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

/**
 * Sessions that `opencode export SESSION` writes: `{info, messages: [{info, parts}]}`. A run is a session; the ids of its
 * messages and parts are the ids of its events. A part of a tool has the call, how far it is, and its output. Tested by
 * `test/core/intake/formats/opencode.test.ts`.
 */
import type { Ending } from '../../../contract/endings.ts';
import { Conversation, words } from '../conversation.ts';
import { endingOf } from '../ending.ts';
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
import { readTime, type SourceTime } from '../time.ts';

const name = 'opencode';

interface Message {
  readonly info: Source;
  readonly parts: readonly unknown[];
}

const isMessage = (value: unknown): value is Message =>
  isSource(value) &&
  isSource(value['info']) &&
  textOf(value['info']['id']) !== undefined &&
  Array.isArray(value['parts']);

interface Session {
  readonly info: Source;
  readonly messages: readonly Message[];
}

const isSession = (value: unknown): value is Session =>
  isSource(value) &&
  isSource(value['info']) &&
  textOf(value['info']['id']) !== undefined &&
  isSource(value['info']['time']) &&
  Array.isArray(value['messages']) &&
  value['messages'].every(isMessage);

const timeOf = ({ time }: Source, member: 'created' | 'start' | 'end'): SourceTime | null =>
  isSource(time) ? readTime(time[member]) : null;

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  if (!isSession(document)) return;
  const { info, messages } = document;
  const run = new RunBuilder(name, { id: String(info['id']) }, context);
  const agent = { name, role: 'agent' };
  run.add({
    eventType: 'run.started',
    actor: agent,
    action: 'start',
    metadata: {
      importer: name,
      version: info['version'],
      cwd: info['directory'],
      title: info['title'],
      parent: info['parentID'],
    },
    at: timeOf(info, 'created'),
    key: 'start',
  });
  const writer = new MessageWriter(new Conversation(run, { agent }));
  for (const message of messages) writer.write(message);
  yield run.finish(messages.length);
}

/** Parts in which the program says something about its own work. */
const steps = words('reasoning patch snapshot compaction retry agent subtask');
const bookkeeping = words('step-start step-finish');

interface Place {
  readonly at: SourceTime | null;
  readonly key: string;
}

class MessageWriter {
  readonly #conversation: Conversation;

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
  }

  write({ info, parts }: Message): void {
    const message = { info, parts: this.#once(parts) };
    const place = { at: timeOf(info, 'created'), key: String(info['id']) };
    if (info['role'] === 'user') this.#prompted(message, place);
    else if (info['role'] === 'assistant') this.#answered(message, place);
    else this.#conversation.unknown('a message of an unknown role', message, place);
  }

  /** Each part once: equal ones of one id are one. */
  #once(parts: readonly unknown[]): readonly unknown[] {
    const seen = new Set<string>();
    return parts.filter((part) => {
      const text = isSource(part) && textOf(part['id']) !== undefined ? JSON.stringify(part) : undefined;
      const isRepeat = text !== undefined && seen.has(text);
      if (isRepeat) this.#conversation.run.changes.add('block_repeated');
      if (text !== undefined) seen.add(text);
      return !isRepeat;
    });
  }

  #prompted({ parts }: Message, place: Place): void {
    const texts = parts.filter(isText);
    // what the program adds, such as the content of a named file, is not the user's
    const own = texts.filter((part) => part['synthetic'] !== true);
    const added = texts.filter((part) => part['synthetic'] === true);
    const files = parts.filter((part) => isSource(part) && part['type'] === 'file');
    const extra = files.length === 0 ? {} : { extra: { files } };
    if (own.length > 0 || files.length > 0)
      this.#conversation.prompted({
        ...place,
        content: own.map(({ text }) => ({ type: 'text', text })),
        ...extra,
      });
    for (const [no, { text }] of added.entries())
      this.#conversation.instructed({ ...place, content: text, key: `${place.key}.context${no}` }, 'context');
    this.#others(parts, place);
  }

  #answered({ info, parts }: Message, place: Place): void {
    const texts = parts.filter(isText);
    const tools = parts.filter(isTool);
    this.#conversation.answered({
      ...place,
      content: texts.length === 0 ? undefined : texts.map(({ text }) => ({ type: 'text', text })),
      model: textOf(info['modelID']),
      usage: info['tokens'],
      extra: { provider: info['providerID'], mode: info['mode'] },
      calls: tools.map((part) => ({
        sourceId: idOf(part['callID']),
        name: String(part['tool']),
        arguments: stateOf(part)['input'],
      })),
    });
    for (const [no, part] of tools.entries())
      this.#returned(part, { ...place, key: `${place.key}.result${no === 0 ? '' : no + 1}` });
    this.#others(parts, place);
    if ((info['error'] ?? null) !== null)
      this.#conversation.run.add({
        eventType: 'run.error',
        actor: this.#conversation.agent,
        action: 'fail',
        metadata: { content: info['error'] },
        at: place.at,
        key: `${place.key}.error`,
      });
  }

  #returned(part: Source, place: Place): void {
    const state = stateOf(part);
    const { status, output, error, metadata } = state;
    // a call that waits or runs has no result yet
    if (status !== 'completed' && status !== 'error') return;
    const stated = status === 'completed' ? endedBy(state) : isRejected(error) ? 'refused' : 'error';
    const exit =
      isSource(metadata) && typeof metadata['exit'] === 'number' ? { exit_code: metadata['exit'] } : {};
    this.#conversation.returned({
      at: timeOf(state, 'end') ?? place.at,
      key: place.key,
      sourceId: idOf(part['callID']),
      name: textOf(part['tool']),
      content: output ?? error,
      outcome: endingOf({ stated, results: [exit, metadata] }),
      details: metadata,
    });
  }

  #others(parts: readonly unknown[], place: Place): void {
    for (const [no, part] of parts.entries()) {
      const type = isSource(part) ? String(part['type']) : '';
      const own = { ...place, key: `${place.key}.part${no + 1}` };
      if (isText(part) || isTool(part) || type === 'file') continue;
      if (bookkeeping.has(type)) this.#conversation.run.changes.add('bookkeeping');
      else if (steps.has(type)) this.#conversation.step(type, { details: part }, own);
      else this.#conversation.unknown(`a part of type ${type}`, part, own);
    }
  }
}

const isText = (part: unknown): part is Source =>
  isSource(part) && part['type'] === 'text' && typeof part['text'] === 'string';
const isTool = (part: unknown): part is Source =>
  isSource(part) && part['type'] === 'tool' && textOf(part['tool']) !== undefined;
const stateOf = ({ state }: Source): Source => (isSource(state) ? state : {});
/**
 * The ending of a call that was completed. A command that the program ended has no exit code: the last words of its output
 * say why.
 */
function endedBy({ output, metadata }: Source): Ending {
  if (!isSource(metadata) || metadata['exit'] !== null) return 'ok';
  const why = /<shell_metadata>\n([^]{0,1000})<\/shell_metadata>\s*$/.exec(textOf(output) ?? '')?.[1] ?? '';
  if (why.startsWith('User aborted the command')) return 'interrupted';
  return /^shell tool terminated command after exceeding timeout\b/.test(why) ? 'timed_out' : 'unknown';
}

/** The program writes this where its user did not permit the call. */
const isRejected = (error: unknown): boolean =>
  typeof error === 'string' && /^The user (?:has )?rejected permission/.test(error);

export const opencode: Format = {
  name,
  about: 'Sessions of OpenCode (opencode export)',
  expects: 'an object with info and messages of info and parts',
  maps: [
    ['a message of the user: text', 'prompt.submitted; snapshot.captured for text of the program'],
    ['a message of the assistant', 'model.invoked, and output.delivered where it calls no tool'],
    ['a part of a tool', 'tool.call, and tool.result when it has ended'],
    ['reasoning, patch, snapshot, compaction', 'agent.step'],
    ['step-start, step-finish', 'counted, not recorded'],
    ['another part', 'x.unknown'],
  ],
  example: {
    info: { id: 's-1', version: '1.3.13', time: { created: 1767603600000 } },
    messages: [
      {
        info: { id: 'm1', role: 'user', time: { created: 1767603601000 } },
        parts: [{ id: 'p1', type: 'text', text: 'Pay the bill' }],
      },
    ],
  },
  detect: (document) => (isSession(document) ? 'info and messages with parts' : undefined),
  runs,
};

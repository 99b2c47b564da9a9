/**
 * What `claude -p` prints with `--output-format stream-json`, or `json` with `--verbose`. Its lines have the ids of the
 * lines in the file of the session, and `claude-code` reads them as such. So its events say that they are copies
 * (`extra.copiedFrom`): the run has each once, whichever of the two is pushed first. Parts of answers
 * (`--include-partial-messages`) come again as whole answers. Tested by `test/core/intake/formats/claude-stream.test.ts`.
 */
import type { EventInput } from '../../../contract/events.ts';
import { words } from '../conversation.ts';
import type { Format } from '../format.ts';
import { isSource, textOf, type ImportContext, type ImportedRun, type Source } from '../run.ts';
import { claudeCode } from './claude-code.ts';

const name = 'claude-stream';

const isLine = (value: unknown): value is Source =>
  isSource(value) &&
  ['session_id', 'uuid', 'type'].every((member) => textOf(value[member]) !== undefined) &&
  !('role' in value) &&
  !('sessionId' in value);

/** Returns the lines of a recording; undefined for any other document. One line may be the whole output. */
function linesOf(document: unknown): readonly Source[] | undefined {
  const lines: readonly unknown[] = Array.isArray(document) ? document : [document];
  return lines.length > 0 && lines.every(isLine) ? lines : undefined;
}

/** Lines about the program, in which nobody says or calls anything. */
const bookkeeping = words('rate_limit_event tool_progress');

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  const lines = linesOf(document) ?? [];
  const given = new Map<unknown, Source>();
  const { parts, rest } = withoutParts(lines);
  const reader = new LineReader(lines);
  const session = rest.flatMap((line) => {
    const read = reader.read(line);
    if (read !== undefined) given.set(read, line);
    return read === undefined ? [] : [read];
  });
  const { placeOf } = context;
  const own = { ...context, placeOf: placeOf && ((value: unknown) => placeOf(given.get(value) ?? value)) };
  const skipped = lines.length - session.length;
  for (const run of session.length === 0 ? [] : claudeCode.runs(session, own)) {
    const changes = new Map(run.changes);
    if (parts > 0) changes.set('block_repeated', (changes.get('block_repeated') ?? 0) + parts);
    if (skipped > parts) changes.set('bookkeeping', (changes.get('bookkeeping') ?? 0) + skipped - parts);
    yield { ...run, format: name, changes, events: run.events.map(asCopy) };
  }
}

function asCopy(event: EventInput): EventInput {
  const { extra, importer, ...facts } = event.metadata ?? {};
  const metadata = {
    ...facts,
    ...(importer === undefined ? {} : { importer: name }),
    extra: { ...(isSource(extra) ? extra : {}), copiedFrom: 'stream-json' },
  };
  return { ...event, metadata };
}

/** The id of the message that a part belongs to, where the part names it. */
const messageOf = ({ event }: Source): string | undefined =>
  isSource(event) && isSource(event['message']) ? textOf(event['message']['id']) : undefined;

/**
 * Leaves out the parts of answers. Those of an answer that never came whole stay, and nobody understands them: the program
 * ended before it.
 */
function withoutParts(lines: readonly Source[]): {
  readonly parts: number;
  readonly rest: readonly Source[];
} {
  const whole = new Set(
    lines.flatMap(({ type, message }) =>
      type === 'assistant' && isSource(message) ? (textOf(message['id']) ?? []) : [],
    ),
  );
  const open = new Map<unknown, string>();
  const rest = lines.filter((line) => {
    if (line['type'] !== 'stream_event') return true;
    const thread = line['parent_tool_use_id'] ?? null;
    const id = messageOf(line) ?? textOf(line['api_message_id']) ?? open.get(thread);
    if (id !== undefined) open.set(thread, id);
    return id === undefined || !whole.has(id);
  });
  return { parts: lines.length - rest.length, rest };
}

class LineReader {
  /** Subagents by the call that started them. */
  readonly #agents = new Map<unknown, string>();
  /** What the program said in place of a model. */
  readonly #failures = new Set<unknown>();

  constructor(lines: readonly Source[]) {
    for (const { tool_use_id: call, task_id: task, parent_tool_use_id: parent, agent_id: agent } of lines) {
      if (textOf(call) !== undefined && typeof task === 'string') this.#agents.set(call, task);
      if (textOf(parent) !== undefined && typeof agent === 'string') this.#agents.set(parent, agent);
    }
  }

  /** Returns a line as the file of the session has it; undefined for one that says nothing of an agent. */
  read(line: Source): Source | undefined {
    const { type, subtype, session_id: sessionId, uuid, ...rest } = line;
    const { timestamp } = line;
    const about = { sessionId, uuid, ...(timestamp === undefined ? {} : { timestamp }) };
    if (bookkeeping.has(String(type))) return undefined;
    if (type === 'result') return this.#ended(rest, { ...about, subtype });
    if (type === 'system')
      return {
        ...about,
        type,
        subtype,
        uuid: `${String(uuid)}.stream`,
        content: rest,
        ...(subtype === 'init' ? { version: line['claude_code_version'], cwd: line['cwd'] } : {}),
      };
    return this.#said(line, { ...about, type });
  }

  #said(line: Source, about: Source): Source {
    const { message, parent_tool_use_id: parent, tool_result_meta: given } = line;
    const agent = textOf(line['agent_id']) ?? this.#agents.get(parent) ?? textOf(parent);
    const [decided] = Array.isArray(given) ? given.filter(isSource) : [];
    const isFailure = line['is_api_error_message'] === true || line['isApiErrorMessage'] === true;
    const isSynthetic = isSource(message) && message['model'] === '<synthetic>';
    if (isFailure || isSynthetic) this.#failures.add(textIn(message));
    const isSpoken = about['type'] === 'user' || about['type'] === 'assistant';
    if (!isSpoken) return { ...line, ...about };
    return {
      ...about,
      message,
      toolUseResult: line['tool_use_result'],
      isMeta: line['isSynthetic'] === true || line['isMeta'] === true,
      error: line['error'],
      ...(isFailure || (isSynthetic && textOf(line['error']) !== undefined)
        ? { isApiErrorMessage: true }
        : {}),
      ...(agent === undefined ? {} : { isSidechain: true, agentId: agent }),
      ...(decided === undefined
        ? {}
        : {
            toolDenialKind: decided['non_execution_kind'],
            permissionDecision: decided['permission_decision'],
          }),
    };
  }

  /** The last line: the final answer again, and what the session cost. */
  #ended(facts: Source, { subtype, ...about }: Source): Source {
    const errors = Array.isArray(facts['errors'])
      ? facts['errors'].filter((each) => typeof each === 'string')
      : [];
    const text = textOf(facts['result']) ?? textOf(errors.join('\n')) ?? String(subtype);
    if (facts['is_error'] !== true || this.#failures.has(text))
      return { ...about, type: 'system', subtype: 'result', content: { subtype, ...facts } };
    const content = [{ type: 'text', text }];
    return {
      ...about,
      type: 'assistant',
      isApiErrorMessage: true,
      error: subtype,
      message: { model: '<synthetic>', content },
    };
  }
}

function textIn(message: unknown): string | undefined {
  const content = isSource(message) ? message['content'] : undefined;
  const [block]: unknown[] = Array.isArray(content) ? content : [];
  return isSource(block) ? textOf(block['text']) : textOf(content);
}

export const claudeStream: Format = {
  name,
  about: 'Output of claude -p --output-format stream-json, or json --verbose',
  expects: 'lines with type, session_id and uuid',
  maps: [
    ['user, assistant', 'as claude-code says, marked as a copy (extra.copiedFrom)'],
    ['system; result, with the last answer again', 'agent.step'],
    ['result with an error that no line before has', 'run.error'],
    ['stream_event with a part of an answer that came whole', 'counted, not recorded'],
    ['rate_limit_event, tool_progress', 'counted, not recorded'],
    ['another line or block', 'x.unknown'],
  ],
  example: [
    {
      type: 'assistant',
      session_id: 's1',
      uuid: 'u2',
      message: {
        id: 'msg_1',
        role: 'assistant',
        model: 'claude-x',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'ls' } }],
      },
    },
    { type: 'result', subtype: 'success', session_id: 's1', uuid: 'u4', is_error: false, result: 'Done.' },
  ],
  detect: (document) => (linesOf(document) === undefined ? undefined : 'lines with session_id and uuid'),
  isLine,
  runs,
};
